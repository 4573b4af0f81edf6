// The door: a password, a code by mail, a passkey, or an account elsewhere; and the second step of who has one.

import { Refused } from "./api.js";
import { hasPasskeys, usePasskey } from "./passkeys.js";
import { oneTimeCode, Proving } from "./proving.js";
import { button, field, form, h } from "./ui.js";

/** Fills `place` and resolves to the session when somebody has come in. `half` is the session of somebody who has still to pass the second step. @param {import("./shell.js").App} app @param {HTMLElement} place @param {any} [half] @returns {Promise<any>} */
export function signIn(app, place, half) {
  return new Promise((arrived) => {
    const door = new Door(app, place, arrived);
    if (half) door.came(half);
    else door.start();
  });
}

class Door {
  /** @param {import("./shell.js").App} app @param {HTMLElement} place @param {(session: any) => void} arrived */
  constructor(app, place, arrived) {
    this.app = app;
    this.place = place;
    this.arrived = arrived;
    this.email = h("input", { name: "email", type: "email", autocomplete: "username", required: true });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.elsewhere = h("div", { class: "elsewhere", hidden: true });
    this.listening = new AbortController();
  }

  #show(/** @type {any[]} */ ...parts) {
    this.error.hidden = true;
    this.place.replaceChildren(h("div", { class: "door" }, h("h1", null, this.app.words.say("sign_in_title")), ...parts.filter(Boolean)));
    /** @type {HTMLElement | null} */ (this.place.querySelector("input"))?.focus();
  }

  start() {
    this.password();
    this.app.api.staff("GET", "ways").then(
      (ways) => this.#offer(ways),
      () => {}, // then there is the password, and the code
    );
  }

  /** What this server and this browser can do beside passwords and codes. @param {any} ways */
  #offer(ways) {
    const { words } = this.app;
    const passkey = ways.passkeys && hasPasskeys ? button(words.say("sign_in_passkey"), () => this.#try(() => this.#passkey())) : null;
    const providers = ways.providers.map((/** @type {any} */ one) => button(words.say("continue_with", { name: one.name }), () => this.#try(() => this.#provider(one.id, ways.project))));
    this.elsewhere.replaceChildren(...[passkey, ...providers].filter(Boolean));
    this.elsewhere.hidden = !this.elsewhere.children.length;
  }

  /** @param {() => Promise<any>} act */
  async #try(act) {
    this.error.hidden = true;
    try {
      await act();
    } catch (problem) {
      this.error.textContent = this.app.sentence(problem);
      this.error.hidden = false;
    }
  }

  password() {
    const { words } = this.app;
    const secret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
    const code = oneTimeCode();
    code.required = false;
    const beside = field(words.say("code"), code);
    beside.hidden = true;
    this.#show(
      this.#intro(),
      form(this.app, [field(words.say("email"), this.email), field(words.say("password"), secret), beside], words.say("sign_in"), async () => {
        try {
          await this.#enter({ email: this.email.value.trim(), password: secret.value, ...(code.value.trim() ? { code: code.value.trim() } : {}) });
        } catch (problem) {
          if (problem instanceof Refused && problem.code === "code_required") beside.hidden = false;
          throw problem;
        }
      }),
      button(words.say("use_code"), () => this.code(), { class: "quiet" }),
      this.elsewhere,
      this.error,
    );
  }

  code() {
    const { words, api } = this.app;
    this.#show(
      this.#intro(),
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
    const code = oneTimeCode();
    this.#show(
      form(this.app, [h("p", null, words.say("code_sent", { to: email })), field(words.say("code"), code)], words.say("sign_in"), async () => {
        await this.#enter({ email, code: code.value.trim() });
      }),
      button(words.say("back"), () => this.code(), { class: "quiet" }),
    );
  }

  #intro() {
    return h("p", { class: "muted" }, this.app.words.say("sign_in_text"));
  }

  /** @param {Record<string, string>} proof */
  async #enter(proof) {
    this.came(await this.app.api.staff("POST", "sign-in", proof));
  }

  async #passkey() {
    const { api } = this.app;
    this.came(await api.staff("POST", "sign-in/passkey", { credential: await usePasskey(await api.staff("POST", "sign-in/passkey/options")) }));
  }

  /** In a window of our own origin, which tells the result to this page only. @param {string} id @param {string} project */
  async #provider(id, project) {
    const { words, api } = this.app;
    const popup = open(`/auth/${id}?${new URLSearchParams({ project_id: project })}`, "threadkit-sign-in", "width=520,height=680");
    if (!popup) throw new Refused(400, { code: "popup_blocked", detail: words.say("popup_blocked") });
    this.listening.abort(); // for a window that was opened before
    this.listening = new AbortController();
    const token = await new Promise((done, failed) => {
      const hear = (/** @type {MessageEvent} */ event) => {
        if (event.origin !== location.origin || event.source !== popup) return;
        const { type } = event.data ?? {};
        if (type !== "threadkit:oauth:success" && type !== "threadkit:oauth:error") return;
        this.listening.abort();
        if (type === "threadkit:oauth:success") done(event.data.token);
        else failed(new Refused(400, { detail: event.data.error || words.say("failed") }));
      };
      addEventListener("message", hear, { signal: this.listening.signal });
    });
    this.came(await api.staff("POST", "session", undefined, { authorization: `Bearer ${token}` }));
  }

  /** Somebody is in, or half of them. @param {any} session */
  came(session) {
    if (!session.second_step_needed) {
      this.arrived(session);
      return;
    }
    const { app } = this;
    const { words, api } = app;
    const proving = new Proving(app, {
      ways: session.second_step,
      text: words.say("second_step_text"),
      action: words.say("continue"),
      prove: async (proof) => this.came(await api.staff("POST", "second-step", proof)),
    });
    const back = async () => {
      await api.staff("DELETE", "session").catch(() => {});
      this.start();
    };
    this.#show(proving.place, button(words.say("back"), back, { class: "quiet" }));
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
  const { words, api, me } = app;
  return new Promise((done) => {
    let yes = false;
    const held = me.second_step.filter((/** @type {string} */ way) => way !== "recovery");
    const proving = new Proving(app, {
      ways: [...(me.has_password ? ["password"] : []), ...held, ...(me.user.email ? ["code"] : [])],
      text: words.say("confirm_text"),
      action: words.say("confirm"),
      email: me.user.email,
      prove: async (proof) => {
        await api.staff("POST", "confirm", proof);
        yes = true;
        box.close();
      },
    });
    const box = open(words.say("confirm_title"), [proving.place]);
    /** @type {HTMLElement | null} */ (proving.place.querySelector("input"))?.focus();
    box.addEventListener("close", () => done(yes));
  });
}
