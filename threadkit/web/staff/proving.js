// Showing who one is: a form for each way, one at a time, with the others a click away.

import { hasPasskeys, usePasskey } from "./passkeys.js";
import { button, field, form, h } from "./ui.js";

/** @typedef {"password" | "totp" | "passkey" | "recovery" | "code"} Way */

export class Proving {
  /**
   * @param {import("./shell.js").App} app
   * @param {{ways: Way[], text: string, action: string, email?: string | null, prove: (proof: Record<string, any>) => Promise<void>}} what
   *   `prove` tells the server
   */
  constructor(app, { ways, text, action, email, prove }) {
    this.app = app;
    this.ways = ways.filter((way) => way !== "passkey" || hasPasskeys);
    this.text = text;
    this.action = action;
    this.email = email;
    this.prove = prove;
    this.place = h("div", { class: "proving" });
    this.#show(this.ways[0]);
  }

  /** @param {Way} way @param {HTMLElement} [shown] */
  #show(way, shown = this.#form(way)) {
    const { words } = this.app;
    const others = this.ways.filter((other) => other !== way);
    this.place.replaceChildren(shown, ...others.map((other) => button(words.say(`use_${other}`), () => this.#choose(other), { class: "quiet" })));
    /** @type {HTMLElement | null} */ (this.place.querySelector("input") ?? this.place.querySelector("button"))?.focus();
  }

  /** @param {Way} way */
  #choose(way) {
    if (way === "code") this.#sendCode().catch((error) => this.app.toast(this.app.sentence(error)));
    else this.#show(way);
  }

  /** @param {Way | undefined} way */
  #form(way) {
    const { app } = this;
    const { words, api } = app;
    const intro = h("p", null, this.text);
    if (way === "password") {
      const secret = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
      return form(app, [intro, field(words.say("password"), secret)], this.action, () => this.prove({ password: secret.value }));
    }
    if (way === "totp") {
      const code = oneTimeCode();
      return form(app, [intro, field(words.say("totp"), code, words.say("totp_hint"))], this.action, () => this.prove({ totp: code.value.trim() }));
    }
    if (way === "recovery") {
      const code = h("input", { name: "recovery", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: "20", required: true });
      return form(app, [intro, field(words.say("recovery_code"), code, words.say("recovery_code_hint"))], this.action, () => this.prove({ recovery_code: code.value.trim() }));
    }
    if (way === "passkey") {
      return form(app, [intro], words.say("show_passkey"), async () => this.prove({ passkey: await usePasskey(await api.staff("POST", "second-step/passkey/options")) }));
    }
    if (way === "code") return form(app, [intro], words.say("send_code"), () => this.#sendCode());
    return h("p", { class: "error", role: "alert" }, words.say("no_way_here"));
  }

  async #sendCode() {
    const { app, email } = this;
    await app.api.staff("POST", "code", { email });
    const code = oneTimeCode();
    this.#show("code", form(app, [h("p", null, app.words.say("code_sent", { to: email })), field(app.words.say("code"), code)], this.action, () => this.prove({ code: code.value.trim() })));
  }
}

export function oneTimeCode() {
  return h("input", { name: "code", inputmode: "numeric", autocomplete: "one-time-code", maxlength: "8", required: true });
}
