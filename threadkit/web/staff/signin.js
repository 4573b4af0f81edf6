// The door: a password, a code by mail, or an account elsewhere.

import { Refused } from "./api.js";
import { button, field, form, h } from "./ui.js";

/** Fills `place` and resolves to the session when somebody has come in. @param {import("./shell.js").App} app @param {HTMLElement} place @returns {Promise<any>} */
export function signIn(app, place) {
  return new Promise((arrived) => new Door(app, place, arrived).password());
}

class Door {
  /** @param {import("./shell.js").App} app @param {HTMLElement} place @param {(session: any) => void} arrived */
  constructor(app, place, arrived) {
    this.app = app;
    this.place = place;
    this.arrived = arrived;
    this.email = h("input", { name: "email", type: "email", autocomplete: "username", required: true });
  }

  #show(/** @type {any[]} */ ...parts) {
    this.place.replaceChildren(h("div", { class: "door" }, h("h1", null, this.app.words.say("sign_in_title")), h("p", { class: "muted" }, this.app.words.say("sign_in_text")), ...parts));
    /** @type {HTMLElement | null} */ (this.place.querySelector("input"))?.focus();
  }

  password() {
    const { words } = this.app;
    const secret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
    this.#show(
      form(this.app, [field(words.say("email"), this.email), field(words.say("password"), secret)], words.say("sign_in"), async () => {
        await this.#enter({ email: this.email.value.trim(), password: secret.value });
      }),
      button(words.say("use_code"), () => this.code(), { class: "quiet" }),
    );
  }

  code() {
    const { words, api } = this.app;
    this.#show(
      form(this.app, [field(words.say("email"), this.email)], words.say("send_code"), async () => {
        const email = this.email.value.trim();
        await api.staff("POST", "code", { email });
        this.#typeCode(email);
      }),
      button(words.say("use_password"), () => this.password(), { class: "quiet" }),
    );
  }

  #typeCode(/** @type {string} */ email) {
    const { words } = this.app;
    const code = h("input", { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6", required: true });
    this.#show(
      form(this.app, [h("p", null, words.say("code_sent", { to: email })), field(words.say("code"), code)], words.say("sign_in"), async () => {
        await this.#enter({ email, code: code.value.trim() });
      }),
      button(words.say("back"), () => this.code(), { class: "quiet" }),
    );
  }

  /** @param {Record<string, string>} proof */
  async #enter(proof) {
    this.arrived(await this.app.api.staff("POST", "sign-in", proof));
  }
}

/** Run `act`; when the server wants to know again who sits here, ask, and run it once more. @template T @param {import("./shell.js").App} app @param {() => Promise<T>} act @param {(title: string, content: any[]) => any} open @returns {Promise<T>} */
export async function confirmed(app, act, open) {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== "confirmation_required") throw error;
  }
  if (!(await proveAgain(app, open))) throw new Refused(403, { code: "confirmation_required", detail: app.words.say("not_confirmed") });
  return act();
}

/** @param {import("./shell.js").App} app @param {(title: string, content: any[]) => any} open @returns {Promise<boolean>} */
function proveAgain(app, open) {
  const { words, api } = app;
  return new Promise((done) => {
    let yes = false;
    const place = h("div");
    const byPassword = () => {
      const secret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
      return form(app, [h("p", null, words.say("confirm_text")), field(words.say("password"), secret)], words.say("confirm"), () => prove({ password: secret.value }));
    };
    const byCode = () => {
      const code = h("input", { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6", required: true });
      return form(app, [h("p", null, words.say("code_sent", { to: app.me.user.email })), field(words.say("code"), code)], words.say("confirm"), () => prove({ code: code.value.trim() }));
    };
    const prove = async (/** @type {Record<string, string>} */ proof) => {
      await api.staff("POST", "confirm", proof);
      yes = true;
      box.close();
    };
    const sendCode = async () => {
      await api.staff("POST", "code", { email: app.me.user.email });
      place.replaceChildren(byCode());
      /** @type {HTMLElement | null} */ (place.querySelector("input"))?.focus();
    };
    place.replaceChildren(
      ...(app.me.has_password
        ? [byPassword(), button(words.say("use_code"), () => sendCode().catch((error) => app.toast(app.sentence(error))), { class: "quiet" })]
        : [form(app, [h("p", null, words.say("confirm_text"))], words.say("send_code"), sendCode)]),
    );
    const box = open(words.say("confirm_title"), [place]);
    box.addEventListener("close", () => done(yes));
  });
}
