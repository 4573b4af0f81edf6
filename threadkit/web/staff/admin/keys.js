// The keys of a site: when each was last used, and new ones in place of those that got about.

import { copyable, dialog, field, form, h, when } from "../ui.js";
import { card, facts, head, pill, seconds } from "./parts.js";

const GRACES_S = [0, 3600, 86_400, 604_800, 2_592_000];
const USUAL_GRACE_S = 86_400;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const list = h("div", { class: "stack" });
  const draw = async () => {
    const { keys, replaced } = await app.api.get("/v1/admin/sites/{site}/keys");
    list.replaceChildren(...keys.map((/** @type {any} */ key) => one(app, key, key.kind === "public" ? replaced : [], draw)));
  };
  place.append(head(app, "keys"), list);
  await draw();
}

/** @param {import("../shell.js").App} app @param {any} key @param {any[]} replaced @param {() => Promise<void>} draw */
function one(app, key, replaced, draw) {
  const { words } = app;
  const never = (/** @type {string | null} */ moment, /** @type {string} */ otherwise) => (moment ? when(app, seconds(moment)) : words.say(otherwise));
  return card(
    words.say(`key_${key.kind}`),
    h("p", { class: "muted" }, words.say(`key_${key.kind}_text`)),
    key.key ? copyable(app, key.key, words.say(`key_${key.kind}`)) : null,
    facts([
      [words.say("key_state"), key.is_set ? pill("ok", words.say("key_is_set")) : pill("unknown", words.say("key_not_set"))],
      [words.say("key_made"), never(key.made_at, key.is_set ? "key_made_unknown" : "key_never")],
      [words.say("key_used"), never(key.last_used, "key_never")],
    ]),
    replaced.length
      ? h("div", { class: "stack" }, h("h3", null, words.say("key_replaced")), h("ul", { class: "stack" }, replaced.map((old) => h("li", null, h("code", null, old.key), " ", h("span", { class: "muted" }, words.say("key_until", { when: words.date(seconds(old.until)) }))))))
      : null,
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => renew(app, key, draw) }, words.say(key.is_set ? "key_renew" : "key_make"))),
  );
}

/** @param {import("../shell.js").App} app @param {any} key @param {() => Promise<void>} draw */
function renew(app, key, draw) {
  const { words } = app;
  const grace = h("select", { name: "grace" }, GRACES_S.map((s) => h("option", { value: s, selected: s === USUAL_GRACE_S }, words.say(`grace_${s}`))));
  const isPublic = key.kind === "public";
  const box = dialog(app, words.say(key.is_set ? "key_renew" : "key_make"), [
    form(
      app,
      [h("p", null, words.say(key.is_set ? `key_${key.kind}_renew` : "key_sso_make")), isPublic ? field(words.say("grace"), grace, words.say("grace_hint")) : null],
      words.say(key.is_set ? "key_renew" : "key_make"),
      async () => {
        const query = isPublic ? `?grace_s=${grace.value}` : "";
        const made = await app.confirmed(() => app.api.call("POST", `/v1/admin/sites/{site}/keys/${key.kind}/rotate${query}`));
        box.close();
        // From now on this page opens the site with the new one, too.
        app.site.api_key_public = made.api_key_public;
        await draw();
        reveal(app, key.kind, made);
      },
    ),
  ]);
}

/** The only time a secret is there to be read. @param {import("../shell.js").App} app @param {string} kind @param {any} made */
function reveal(app, kind, made) {
  const { words } = app;
  const secret = made.api_key_secret ?? made.sso_secret;
  dialog(app, words.say("key_new"), [
    h(
      "div",
      { class: "stack" },
      h("p", { class: secret ? "notice warning" : "" }, words.say(secret ? "key_once" : "key_new_public")),
      copyable(app, secret ?? made.api_key_public, words.say(`key_${kind}`)),
      made.previous_key_until ? h("p", { class: "muted" }, words.say("key_old_until", { when: words.date(seconds(made.previous_key_until)) })) : null,
    ),
  ]);
}
