// Deciding about several at once.

import { button, h } from "../ui.js";
import { ACTIONS, kindOf } from "./deciding.js";

export class Bulk {
  /** @param {import("../shell.js").App} app @param {import("./pile.js").Pile} pile @param {(action: string) => any} then */
  constructor(app, pile, then) {
    this.app = app;
    this.pile = pile;
    this.isBusy = false;
    const { words } = app;
    this.all = h("input", { type: "checkbox", onchange: () => this.#all(this.all.checked) });
    this.count = h("span", { role: "status" });
    this.note = h("p", { class: "error", role: "alert", hidden: true });
    this.buttons = h("div", { class: "row", hidden: true }, ACTIONS.map((action) => button(words.say(`action_${action}`), () => then(action), { class: kindOf(action), "aria-label": words.say(`action_all_${action}`) })), button(words.say("select_none"), () => this.#all(false), { class: "quiet" }));
    this.element = h("div", { class: "bulk", role: "group", "aria-label": words.say("bulk") }, h("label", { class: "row" }, this.all, words.say("select_all")), this.count, this.buttons, this.note);
  }

  get chosen() {
    return [...this.pile.cards].filter(([, card]) => card.box?.checked).map(([id]) => id);
  }

  /** @param {string | null} id */
  toggle(id) {
    const box = id ? this.pile.cards.get(id)?.box : null;
    if (box) box.checked = !box.checked;
    this.changed();
  }

  #all(/** @type {boolean} */ isOn) {
    for (const card of this.pile.cards.values()) if (card.box) card.box.checked = isOn;
    this.changed();
  }

  changed() {
    const n = this.chosen.length;
    const has = n > 0;
    this.all.checked = has && n === this.pile.cards.size;
    this.all.indeterminate = has && n < this.pile.cards.size;
    this.count.textContent = has ? this.app.words.say("selected", { n }) : "";
    this.buttons.hidden = !has;
    this.element.hidden = !this.pile.cards.size;
    this.element.classList.toggle("on", has);
    document.body.classList.toggle("choosing", has);
    for (const card of this.pile.cards.values()) card.element.classList.toggle("chosen", Boolean(card.box?.checked));
  }

  /** @param {() => Promise<any>} act */
  async run(act) {
    this.isBusy = true;
    this.note.hidden = true;
    for (const one of this.buttons.querySelectorAll("button")) one.disabled = true;
    try {
      await act();
    } catch (error) {
      this.note.textContent = this.app.sentence(error);
      this.note.hidden = false;
    }
    for (const one of this.buttons.querySelectorAll("button")) one.disabled = false;
    this.isBusy = false;
    this.changed();
  }
}
