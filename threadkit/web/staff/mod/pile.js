// The cards of the queue in their order, kept as the server has them without moving what is being read.

import { CommentCard } from "./card.js";
import { query } from "./places.js";

export const AT_ONCE = 50;
const MOST_AT_ONCE = 100;

export class Pile {
  /** @param {import("../shell.js").App} app @param {HTMLElement} place @param {Record<string, any>} wanted @param {Set<string>} busy what is being decided about @param {(id: string) => any} options for the cards */
  constructor(app, place, wanted, busy, options) {
    this.app = app;
    this.place = place;
    this.wanted = wanted;
    this.busy = busy;
    this.options = options;
    /** @type {Map<string, CommentCard>} in their order */
    this.cards = new Map();
    /** @type {Map<string, number>} what has left, and when: an answer from before must not bring it back */
    this.left = new Map();
    this.waiting = 0;
    this.hasMore = false;
    this.isCut = false;
  }

  get ids() {
    return [...this.cards.keys()];
  }

  /** @param {string} id @param {number} step @returns {string | null} */
  beside(id, step) {
    const { ids } = this;
    return ids[ids.indexOf(id) + step] ?? null;
  }

  /** The first ones, or the same ones again with what is new among them. Says what is new. */
  async load() {
    const asked = performance.now();
    /** @type {any[]} */
    const found = [];
    const wanted = Math.max(AT_ONCE, this.cards.size + 10);
    let page;
    do page = await this.#page(found, Math.min(MOST_AT_ONCE, wanted - found.length));
    while (page.length && found.length < wanted);
    const listed = new Set(found.map((item) => item.comment.i));
    for (const id of this.ids) if (!listed.has(id) && found.length < wanted) this.take(id, asked);
    return this.#merge(found, asked);
  }

  async more() {
    const asked = performance.now();
    /** @type {any[]} */
    const found = [];
    await this.#page(found, AT_ONCE, this.cards.size);
    return this.#merge([...[...this.cards.values()].map((card) => card.item), ...found], asked);
  }

  async #page(/** @type {any[]} */ found, /** @type {number} */ limit, offset = found.length) {
    const answer = await this.app.api.get(`/v1/moderation/queue?${query({ ...this.wanted, offset, limit })}`);
    found.push(...answer.items);
    this.waiting = answer.waiting;
    this.isCut = answer.is_cut;
    this.hasMore = answer.items.length === limit;
    return answer.items.length === limit ? answer.items : [];
  }

  /** @param {any[]} items @param {number} asked */
  #merge(items, asked) {
    const fresh = [];
    /** @type {Element | null} */
    let before = null;
    const cards = new Map();
    for (const item of items) {
      const id = item.comment.i;
      if (cards.has(id) || this.busy.has(id) || (this.left.get(id) ?? -1) >= asked) continue;
      let card = this.cards.get(id);
      if (!card) {
        fresh.push(id);
        card = new CommentCard(this.app, item, this.options(id));
        if (before) before.after(card.element);
        else this.place.prepend(card.element);
      } else if (card.item !== item && card.item.updated_at !== item.updated_at) card.update(item);
      else if (card.item !== item) card.claimed(item.claimed_by);
      before = card.element;
      cards.set(id, card);
    }
    for (const [id, card] of this.cards) if (!cards.has(id)) cards.set(id, card);
    this.cards = cards;
    return fresh;
  }

  /** It has left, for now at least. @param {string} id @param {number} [at] @returns {() => void} what puts it back where it was */
  take(id, at = performance.now()) {
    const card = this.cards.get(id);
    if (!card) return () => {};
    const next = this.beside(id, 1);
    this.cards.delete(id);
    this.left.set(id, at);
    card.element.remove();
    return () => {
      this.left.delete(id);
      if (this.cards.has(id)) return;
      const ids = this.ids;
      const place = next && this.cards.has(next) ? ids.indexOf(next) : ids.length;
      const entries = [...this.cards];
      entries.splice(place, 0, [id, card]);
      this.cards = new Map(entries);
      const after = entries[place + 1]?.[1].element ?? null;
      this.place.insertBefore(card.element, after);
    };
  }

  /** The server has it no more: answers from before this moment are old. @param {string} id */
  gone(id) {
    this.left.set(id, performance.now());
  }

  /** It may come again. @param {string} id */
  forgive(id) {
    this.left.delete(id);
  }
}
