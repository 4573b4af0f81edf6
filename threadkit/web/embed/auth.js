// Signing in, in a dialog over the thread: asked for only when it is needed, and what was written stays where it is.

import { button, h } from "./dom.js";
import { Refused } from "./api.js";
import { dialog } from "./dialog.js";

/** @param {any} app @param {string} [why] @returns {Promise<any>} the user, or null */
export async function signIn(app, why) {
  const { words } = app;
  app.site ??= await app.api.get("/v1/site");
  const ways = app.site.methods ?? [];
  return new Promise((done) => {
    const panel = h("div", { class: "ways" });
    const box = dialog(app, words.say("sign_in_title"), [why && words.has(`why_${why}`) ? h("p", { class: "muted" }, words.say(`why_${why}`)) : null, panel].filter(Boolean), {
      "data-testid": "auth-modal",
    });
    box.addEventListener("close", () => done(app.api.user));
    new Ways(app, panel, ways, (session) => {
      app.api.keep(session);
      box.close();
      app.announce(words.say("signed_in_as", { name: words.name(session.user.name) }));
    }).start();
  });
}

class Ways {
  /** @param {any} app @param {HTMLElement} panel @param {any[]} ways @param {(session: any) => void} arrived */
  constructor(app, panel, ways, arrived) {
    this.app = app;
    this.panel = panel;
    this.ways = ways;
    this.arrived = arrived;
    this.error = h("p", { class: "error", role: "alert", hidden: true });
  }

  has(/** @type {string} */ id) {
    return this.ways.some((way) => way.id === id);
  }

  start() {
    const { words } = this.app;
    const providers = this.ways.filter((way) => way.type === "oauth");
    this.#show(
      this.has("anonymous") ? this.#guest() : null,
      this.has("email") || this.has("phone") ? this.#byCode() : null,
      this.has("password") ? button(words.say("use_password"), () => this.#password("login"), { class: "wide" }) : null,
      ...providers.map((way) => button(words.say("continue_with", { name: way.name }), () => this.#provider(way.id), { class: "wide" })),
    );
    if (this.panel.children.length > 1) return;
    const own = this.ways.find((way) => way.type === "sso");
    this.#show(h("p", null, own ? words.say("only_sso", { name: own.name }) : words.say("no_ways")));
  }

  #show(/** @type {any[]} */ ...parts) {
    this.error.hidden = true;
    this.panel.replaceChildren(...parts.filter(Boolean), this.error);
    /** @type {HTMLElement | null} */ (this.panel.querySelector("input, button"))?.focus();
  }

  /** A form of a few fields that says what went wrong. @param {any[]} parts @param {string} label @param {(form: HTMLFormElement) => Promise<void>} then */
  #form(parts, label, then) {
    const submit = h("button", { class: "primary wide" }, label);
    const form = h("form", { novalidate: true }, ...parts, submit);
    form.addEventListener("submit", async (/** @type {Event} */ event) => {
      event.preventDefault();
      submit.disabled = true;
      this.error.hidden = true;
      try {
        await then(form);
      } catch (error) {
        this.error.textContent = this.app.sentence(error);
        this.error.hidden = false;
      }
      submit.disabled = false;
    });
    return form;
  }

  #field(/** @type {string} */ name, /** @type {Record<string, any>} */ props) {
    const { words } = this.app;
    return h("label", { class: "labelled" }, h("span", null, words.say(`field_${name}`)), h("input", { name, placeholder: words.say(`field_${name}`), ...props }));
  }

  #guest() {
    const { words, api } = this.app;
    return this.#form([this.#field("name", { maxlength: "24", autocomplete: "nickname" })], words.say("continue_guest"), async (form) => {
      this.arrived(await api.call("POST", "/v1/auth/anonymous", { name: form.elements.namedItem("name").value.trim() || null }));
    });
  }

  #byCode() {
    const { words, api } = this.app;
    const kind = this.has("email") ? "email" : "phone";
    const props = kind === "email" ? { type: "email", autocomplete: "email", required: true } : { type: "tel", autocomplete: "tel", required: true };
    return this.#form([this.#field(kind, props)], words.say("continue"), async (form) => {
      const contact = { [kind]: form.elements.namedItem(kind).value.trim() };
      await api.call("POST", "/v1/auth/send-otp", contact);
      this.#code(contact);
    });
  }

  #code(/** @type {Record<string, string>} */ contact, name = false) {
    const { words, api } = this.app;
    const code = this.#field("code", { inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6", required: true });
    const called = this.#field("name", { maxlength: "24", autocomplete: "nickname" });
    called.hidden = !name;
    const form = this.#form([h("p", { class: "muted" }, words.say("code_sent", { to: Object.values(contact)[0] })), code, called], words.say("continue"), async () => {
      const body = { ...contact, code: code.querySelector("input").value.trim() };
      try {
        this.arrived(await api.call("POST", "/v1/auth/verify-otp", called.hidden ? body : { ...body, name: called.querySelector("input").value.trim() }));
      } catch (error) {
        if (!(error instanceof Refused) || error.code !== "name_required") throw error;
        called.hidden = false;
        called.querySelector("input").focus();
        if (name) throw error;
        name = true;
      }
    });
    this.#show(form, button(words.say("back"), () => this.start(), { class: "quiet" }));
  }

  #password(/** @type {"login" | "register" | "forgot"} */ step) {
    const { words, api } = this.app;
    const email = this.#field("email", { type: "email", autocomplete: "username", required: true });
    const secret = this.#field("password", { type: "password", autocomplete: step === "login" ? "current-password" : "new-password", required: true });
    const name = this.#field("name", { maxlength: "24", autocomplete: "nickname", required: true });
    const value = (/** @type {HTMLElement} */ field) => field.querySelector("input")?.value.trim() ?? "";
    const code = this.#field("code", { inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6" });
    code.hidden = true;
    const parts = { login: [email, secret, code], register: [name, email, secret], forgot: [email] }[step];
    const form = this.#form(parts, words.say(step), async () => {
      if (step === "forgot") {
        await api.call("POST", "/v1/auth/forgot", { email: value(email) });
        return this.#reset(value(email));
      }
      const body = { email: value(email), password: secret.querySelector("input").value, ...(step === "register" ? { name: value(name) } : {}), ...(value(code) ? { code: value(code) } : {}) };
      try {
        this.arrived(await api.call("POST", `/v1/auth/${step}`, body));
      } catch (error) {
        if (error instanceof Refused && error.code === "code_required") code.hidden = false;
        throw error;
      }
    });
    const others = /** @type {const} */ (["login", "register", "forgot"]).filter((other) => other !== step);
    this.#show(form, ...others.map((other) => button(words.say(`go_${other}`), () => this.#password(other), { class: "quiet" })), button(words.say("back"), () => this.start(), { class: "quiet" }));
  }

  #reset(/** @type {string} */ email) {
    const { words, api } = this.app;
    const code = this.#field("code", { inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6", required: true });
    const secret = this.#field("password", { type: "password", autocomplete: "new-password", required: true });
    const form = this.#form([h("p", { class: "muted" }, words.say("code_sent", { to: email })), code, secret], words.say("set_password"), async () => {
      const password = secret.querySelector("input").value;
      await api.call("POST", "/v1/auth/reset", { email, code: code.querySelector("input").value.trim(), new_password: password });
      this.arrived(await api.call("POST", "/v1/auth/login", { email, password }));
    });
    this.#show(form, button(words.say("back"), () => this.#password("login"), { class: "quiet" }));
  }

  /** In a window of our own origin, which tells the result to this page only. */
  #provider(/** @type {string} */ id) {
    const { words, api } = this.app;
    const query = new URLSearchParams({ project_id: api.project });
    const popup = open(`${api.base}/auth/${id}?${query}`, "threadkit-sign-in", "width=520,height=680");
    const origin = new URL(api.base).origin;
    const hear = (/** @type {MessageEvent} */ event) => {
      if (event.origin !== origin || event.source !== popup) return;
      if (event.data?.type === "threadkit:oauth:success") {
        removeEventListener("message", hear);
        const { token, refresh_token, user } = event.data;
        this.arrived({ token, refresh_token, user });
      } else if (event.data?.type === "threadkit:oauth:error") {
        removeEventListener("message", hear);
        this.error.textContent = event.data.error || words.say("failed");
        this.error.hidden = false;
      }
    };
    addEventListener("message", hear);
    if (!popup) {
      this.error.textContent = words.say("popup_blocked");
      this.error.hidden = false;
    }
  }
}

/** A token that shows that a person is writing; null when they closed the window. @param {any} app @param {string} siteKey @returns {Promise<string | null>} */
export function humanToken(app, siteKey) {
  return new Promise((done) => {
    const popup = open(`${app.api.base}/v1/turnstile/challenge?site_key=${encodeURIComponent(siteKey)}`, "threadkit-turnstile", "width=400,height=360");
    const origin = new URL(app.api.base).origin;
    const hear = (/** @type {MessageEvent} */ event) => {
      if (event.origin !== origin || !String(event.data?.type).startsWith("threadkit:turnstile:")) return;
      removeEventListener("message", hear);
      done(event.data.token ?? null);
    };
    addEventListener("message", hear);
    if (!popup) done(null);
  });
}
