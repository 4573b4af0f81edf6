// Which comment is being looked at: by focus, by j and k, and on a phone by scrolling.

import { Claims } from "./claims.js";

const SLACK = 20;
export const NARROW = "(max-width: 47.99rem)";

export class Looking {
  /** @param {import("../shell.js").App} app @param {import("./pile.js").Pile} pile @param {HTMLElement} list @param {(card: import("./card.js").CommentCard) => void} told of another one @param {AbortSignal} signal */
  constructor(app, pile, list, told, signal) {
    this.pile = pile;
    this.told = told;
    /** @type {string | null} */
    this.id = null;
    /** @type {string[]} being decided about at this moment */
    this.resting = [];
    this.claims = new Claims(app, (id, by) => pile.cards.get(id)?.claimed(by));
    list.addEventListener("focusin", (/** @type {FocusEvent} */ event) => this.set(/** @type {HTMLElement} */ (event.target).closest("article")?.dataset.id), { signal });
    addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    signal.addEventListener("abort", () => this.claims.close());
  }

  get card() {
    return this.id ? this.pile.cards.get(this.id) : undefined;
  }

  /** @param {string | null | undefined} id */
  set(id) {
    if (!id || id === this.id || !this.pile.cards.has(id)) return;
    this.#mark(false);
    this.id = id;
    this.#mark(true);
    this.#claim();
    if (this.card) this.told(this.card);
  }

  /** Where there is most to do: at the first one that nobody else is on. */
  begin() {
    this.set(this.#free(0) ?? this.pile.ids[0]);
  }

  #free(/** @type {number} */ from) {
    return this.pile.ids.slice(from).find((id) => !this.pile.cards.get(id)?.isTaken);
  }

  #mark(/** @type {boolean} */ isOn) {
    this.card?.element.classList.toggle("current", isOn);
    this.card?.element.setAttribute("tabindex", isOn ? "0" : "-1");
  }

  /** Somebody else claims it, or does so no more. @param {string} id @param {any} by */
  claimed(id, by) {
    const card = this.pile.cards.get(id);
    card?.claimed(by);
    if (card && id === this.id && !card.isTaken) this.#claim();
  }

  /** @param {string | null | undefined} id */
  focus(id) {
    const card = id ? this.pile.cards.get(id) : undefined;
    card?.element.focus({ preventScroll: true });
    card?.element.scrollIntoView({ block: matchMedia(NARROW).matches ? "start" : "nearest" });
  }

  get #hasFocus() {
    return Boolean(this.card?.element.contains(document.activeElement));
  }

  /** @param {number} by */
  step(by) {
    this.focus(this.id && this.#hasFocus ? (this.pile.beside(this.id, by) ?? this.id) : (this.id ?? this.pile.ids[0]));
  }

  /** Something is done with the keys to the one in view: they go on from there. @returns {string | null} its id */
  hold() {
    if (!this.#hasFocus) this.focus(this.id);
    return this.id;
  }

  /** Nobody claims what is about to be decided, which may be gone by then. @param {string[]} ids */
  rest(ids) {
    this.resting = ids;
    if (this.id && ids.includes(this.id)) this.claims.decided(this.id);
  }

  /** It is decided, or could not be. */
  resume() {
    this.resting = [];
    this.#claim();
  }

  #claim() {
    this.claims.look(this.id && !this.card?.isTaken && !this.resting.includes(this.id) ? this.id : null);
  }

  /** It has gone. Says which one is next, if it was the one that was looked at. @param {string} id @returns {string | null} */
  leave(id) {
    if (id !== this.id) return null;
    const next = this.#free(this.pile.ids.indexOf(id) + 1) ?? this.pile.beside(id, 1) ?? this.pile.beside(id, -1);
    this.claims.decided(id);
    this.id = null;
    return next;
  }

  /** On a phone the one that is in view is the one that is looked at; it stays so while it begins in view or fills it. */
  #scrolled() {
    if (this.drawing || !matchMedia(NARROW).matches) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      const begins = (/** @type {DOMRect} */ { top }) => top >= -SLACK && top < innerHeight * 0.6;
      const fills = (/** @type {DOMRect} */ { top, bottom }) => top < innerHeight * 0.4 && bottom > innerHeight * 0.4;
      const boxes = [...this.pile.cards.values()].map((card) => ({ id: card.id, box: card.element.getBoundingClientRect() }));
      const now = boxes.find(({ id }) => id === this.id);
      if (now && (begins(now.box) || fills(now.box))) return;
      this.set((boxes.find(({ box }) => begins(box)) ?? boxes.find(({ box }) => fills(box)))?.id);
    });
  }
}
