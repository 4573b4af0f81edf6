// Setting up and taking away what one has for the second step.

import { hasPasskeys, makePasskey } from "./passkeys.js";
import { oneTimeCode } from "./proving.js";
import { ask, button, copyable, dialog, field, form, h, when } from "./ui.js";

/** @typedef {import("./shell.js").App} App */

/** @param {App} app @param {any} state @param {() => Promise<void>} redraw */
export function totpPart(app, state, redraw) {
  const { words, api } = app;
  const since = state.totp_since && Date.parse(state.totp_since) / 1000;
  const off = async () => {
    if (!(await ask(app, { title: words.say("totp_off"), text: words.say(last(state, "totp") ? "last_factor_text" : "totp_off_text"), action: words.say("totp_off") }))) return;
    await app.confirmed(() => api.staff("DELETE", "totp"));
    await redraw();
  };
  return part(
    words.say("totp_title"),
    since ? h("p", { class: "hint" }, words.say("totp_since"), " ", when(app, since)) : h("p", { class: "hint" }, words.say("totp_text")),
    h(
      "div",
      { class: "row" },
      button(words.say(since ? "totp_replace" : "totp_set_up"), () => attempt(app, () => setUp(app, redraw))),
      since ? button(words.say("totp_off"), () => attempt(app, off), { class: "danger" }) : null,
    ),
  );
}

/** @param {App} app @param {() => Promise<void>} redraw */
async function setUp(app, redraw) {
  const { words, api } = app;
  const draft = await app.confirmed(() => api.staff("POST", "totp"));
  const code = oneTimeCode();
  const picture = h("img", { class: "qr", src: `data:image/svg+xml,${encodeURIComponent(draft.qr_svg)}`, alt: words.say("qr_alt"), width: "220", height: "220" });
  const typed = form(app, [field(words.say("totp"), code, words.say("totp_first_hint"))], words.say("totp_switch_on"), async () => {
    const { recovery_codes: codes } = await app.confirmed(() => api.staff("PUT", "totp", { totp: code.value.trim() }));
    box.close();
    await done(app, words.say("totp_is_on"), codes, redraw);
  });
  const box = dialog(app, words.say("totp_set_up"), [
    h("div", { class: "setting-up" }, h("p", null, words.say("totp_scan")), picture, h("p", { class: "hint" }, words.say("totp_by_hand")), copyable(app, draft.secret.match(/.{1,4}/g).join(" "), words.say("totp_secret")), typed),
  ]);
}

/** @param {App} app @param {any} state @param {() => Promise<void>} redraw */
export function passkeyPart(app, state, redraw) {
  const { words, api } = app;
  const remove = async (/** @type {any} */ passkey) => {
    const text = words.say(last(state, "passkey") ? "last_factor_text" : "passkey_remove_text", { name: passkey.name });
    if (!(await ask(app, { title: words.say("passkey_remove"), text, action: words.say("remove") }))) return;
    await app.confirmed(() => api.staff("DELETE", `passkeys/${passkey.id}`));
    await redraw();
  };
  const rows = state.passkeys.map((/** @type {any} */ passkey) =>
    h(
      "li",
      { class: "line" },
      h(
        "div",
        null,
        h("p", null, passkey.name),
        h("p", { class: "hint" }, ...(passkey.last_used ? [words.say("last_used"), " ", when(app, Date.parse(passkey.last_used) / 1000)] : [words.say("never_used")])),
      ),
      h(
        "div",
        { class: "row" },
        button(words.say("rename"), () => named(app, words.say("rename"), passkey.name, (name) => api.staff("PATCH", `passkeys/${passkey.id}`, { name }).then(() => redraw)), { "aria-label": words.say("rename_this", { name: passkey.name }) }),
        button(words.say("remove"), () => attempt(app, () => remove(passkey)), { class: "danger", "aria-label": words.say("remove_this", { name: passkey.name }) }),
      ),
    ),
  );
  const add = () =>
    named(app, words.say("passkey_add"), "", async (name) => {
      const options = await app.confirmed(() => api.staff("POST", "passkeys/options"));
      const { recovery_codes: codes } = await api.staff("POST", "passkeys", { name, credential: await makePasskey(options) });
      return () => done(app, words.say("passkey_added"), codes, redraw);
    });
  const isPossible = state.passkeys_possible && hasPasskeys;
  return part(
    words.say("passkeys"),
    h("p", { class: "hint" }, words.say(isPossible ? "passkeys_text" : state.passkeys_possible ? "passkeys_browser" : "passkeys_number")),
    rows.length ? h("ul", { class: "lines" }, rows) : null,
    isPossible ? h("div", { class: "row" }, button(words.say("passkey_add"), add)) : null,
  );
}

/** @param {App} app @param {any} state @param {() => Promise<void>} redraw */
export function recoveryPart(app, state, redraw) {
  const { words, api } = app;
  if (!state.is_on) return null;
  const renew = async () => {
    if (!(await ask(app, { title: words.say("recovery_renew"), text: words.say("recovery_renew_text"), action: words.say("recovery_renew") }))) return;
    const { recovery_codes: codes } = await app.confirmed(() => api.staff("POST", "recovery-codes"));
    await done(app, words.say("recovery_renewed"), codes, redraw);
  };
  return part(
    words.say("recovery_codes"),
    h("p", { class: state.recovery_codes_left < 3 ? "warn" : "hint" }, words.say("recovery_left", { n: state.recovery_codes_left })),
    h("div", { class: "row" }, button(words.say("recovery_renew"), () => attempt(app, renew))),
  );
}

/** Say that it worked, show codes that are shown once, and draw anew. @param {App} app @param {string} text @param {string[] | null} codes @param {() => Promise<void>} redraw */
async function done(app, text, codes, redraw) {
  const { words } = app;
  await redraw();
  if (!codes) {
    app.toast(text);
    return;
  }
  const box = dialog(app, words.say("recovery_codes"), [
    h("div", { class: "setting-up" }, h("p", null, text), h("p", null, words.say("recovery_keep")), copyable(app, codes.join("\n"), words.say("recovery_codes")), h("div", { class: "row end" }, button(words.say("recovery_kept"), () => box.close(), { class: "primary" }))),
  ]);
}

/** Ask what a passkey is called; what `then` gives is called when the dialog is gone. @param {App} app @param {string} title @param {string} before @param {(name: string) => Promise<() => Promise<void>>} then */
function named(app, title, before, then) {
  const { words } = app;
  const name = h("input", { value: before, maxlength: "60", required: true, autocomplete: "off" });
  const box = dialog(app, title, [
    form(app, [field(words.say("passkey_name"), name, words.say("passkey_name_hint"))], words.say("continue"), async () => {
      const after = await then(name.value.trim());
      box.close();
      await after();
    }),
  ]);
  name.focus();
}

/** Whether nothing is left without it. @param {any} state @param {"totp" | "passkey"} kind */
function last(state, kind) {
  return kind === "totp" ? !state.passkeys.length : !state.totp_since && state.passkeys.length === 1;
}

/** @param {string} title @param {...any} content */
function part(title, ...content) {
  return h("div", { class: "part" }, h("h3", null, title), ...content);
}

/** Do something, and say what went wrong. @param {App} app @param {() => Promise<any>} act */
export async function attempt(app, act) {
  try {
    await act();
  } catch (error) {
    app.toast(app.sentence(error));
  }
}
