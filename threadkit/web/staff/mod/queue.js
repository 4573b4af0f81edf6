// What waits for a decision.

import { button, empty, h } from "../ui.js";
import { Bulk } from "./bulk.js";
import { ACTIONS, KEYS, askReason, decide, kindOf, mayGoOn, offer, undoLast, undoOne } from "./deciding.js";
import { feedOf } from "./feed.js";
import { filters } from "./filters.js";
import { help, listen } from "./keys.js";
import { Looking } from "./looking.js";
import { nameOf } from "./names.js";
import { Pile } from "./pile.js";
import { link, query, read } from "./places.js";

const TOGETHER_MS = 250;
const GLIMPSE = 100;
const OVER = ["already_decided", "comment_not_found"];

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  const queue = new Queue(app, place, read(rest));
  await queue.start();
  return () => queue.leave();
}

class Queue {
  /** @param {import("../shell.js").App} app @param {HTMLElement} place @param {Record<string, string>} wanted */
  constructor(app, place, wanted) {
    this.app = app;
    this.wanted = wanted;
    /** @type {Set<string>} being decided about at this moment */
    this.busy = new Set();
    this.until = new AbortController();
    const { words } = app;
    this.list = h("div", { class: "cards" });
    this.foot = h("div", { class: "foot" });
    this.total = h("span", { class: "muted" });
    this.state = h("span", { class: "live muted", role: "status" });
    this.about = h("p", { class: "about muted" });
    this.bar = h("div", { class: "thumb", role: "group", "aria-label": words.say("thumb_bar"), hidden: true }, this.about, ACTIONS.map((action) => button(words.say(`action_${action}`), () => this.act(action), { class: kindOf(action) })));
    const { author: author_id, page: page_id, reason, reported } = wanted;
    this.pile = new Pile(app, this.list, { author_id, page_id, reason, reported }, this.busy, (id) => this.#options(id));
    this.looking = new Looking(app, this.pile, this.list, (card) => this.#about(card), this.until.signal);
    this.bulk = new Bulk(app, this.pile, (action) => this.#decideAll(action));
    this.near = new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && this.#reports(/** @type {HTMLElement} */ (one.target))), { rootMargin: "400px" });
    place.append(
      h("div", { class: "view-head" }, h("h1", null, words.say("view_queue")), this.total, this.state, button(words.say("keys_button"), () => help(app), { class: "quiet keys-button" })),
      filters(app, wanted),
      this.bulk.element,
      this.list,
      this.foot,
      this.bar,
    );
  }

  async start() {
    this.feed = feedOf(this.app);
    const { signal } = this.until;
    this.feed.addEventListener("queued", () => this.#soon(), { signal });
    this.feed.addEventListener("resync", () => this.#soon(), { signal });
    this.feed.addEventListener("counts", (event) => this.#counted(/** @type {CustomEvent} */ (event).detail), { signal });
    this.feed.addEventListener("state", () => this.#live(), { signal });
    for (const kind of ["claimed", "released"]) {
      this.feed.addEventListener(kind, (event) => this.#claimed(/** @type {CustomEvent} */ (event).detail), { signal });
    }
    this.feed.addEventListener("decided", (event) => this.#decided(/** @type {CustomEvent} */ (event).detail), { signal });
    this.deaf = listen({
      j: () => this.looking.step(1),
      k: () => this.looking.step(-1),
      a: () => this.act("approve"),
      r: () => this.act("reject"),
      s: () => this.act("spam"),
      d: () => this.act("delete"),
      u: () => undoLast(this.app),
      x: () => this.bulk.toggle(this.looking.hold()),
      o: () => this.looking.card?.context(),
      Enter: () => this.looking.card?.context(),
      "?": () => help(this.app),
    });
    this.#live();
    await this.pile.load();
    this.#draw();
    this.looking.begin();
  }

  leave() {
    this.until.abort();
    this.near.disconnect();
    this.deaf?.();
    clearTimeout(this.soon);
    document.body.classList.remove("choosing");
  }

  #options(/** @type {string} */ id) {
    const { words } = this.app;
    return {
      hasKeys: true,
      actions: () => ACTIONS.map((action) => ({ id: action, label: words.say(`action_${action}`), key: KEYS[action], kind: kindOf(action), then: () => this.decide(action, id) })),
      select: () => this.bulk.changed(),
      aside: (/** @type {any} */ item) =>
        h(
          "details",
          { class: "more" },
          h("summary", null, words.say("more")),
          h("div", { class: "row" }, button(words.say("reject_with_reason"), () => this.decide("reject", id, true)), h("a", { class: "button", href: link("queue", { author: item.comment.a }) }, words.say("only_author")), h("a", { class: "button", href: link("queue", { page: item.page_id }) }, words.say("only_page"))),
        ),
    };
  }

  /** Load again, once for all that happens at the same time. */
  #soon(after = TOGETHER_MS) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.refresh().catch((error) => this.app.toast(this.app.sentence(error))), after);
  }

  async refresh() {
    const had = this.pile.cards.size;
    const fresh = await this.pile.load();
    if (this.until.signal.aborted) return;
    if (!this.looking.card) this.looking.id = null;
    this.#draw();
    if (had && fresh.length) this.app.announce(this.app.words.say("new_items", { n: fresh.length }));
    if (!this.looking.id) this.looking.begin();
  }

  #draw() {
    const { words } = this.app;
    const { pile } = this;
    this.total.textContent = words.say("waiting", { n: pile.waiting });
    for (const card of pile.cards.values()) this.near.observe(card.element);
    this.bar.hidden = !pile.cards.size;
    this.bulk.changed();
    const isFiltered = Boolean(query(pile.wanted));
    if (!pile.cards.size && !this.busy.size) this.foot.replaceChildren(isFiltered ? empty(words.say("queue_none_fit"), words.say("queue_none_fit_text")) : empty(words.say("queue_empty"), words.say("queue_empty_text")));
    else if (pile.hasMore) this.foot.replaceChildren(button(words.say("load_more"), (event) => this.#more(/** @type {HTMLButtonElement} */ (event.target))));
    else this.foot.replaceChildren(pile.isCut ? h("p", { class: "muted" }, words.say("queue_cut")) : "");
  }

  async #more(/** @type {HTMLButtonElement} */ pressed) {
    pressed.disabled = true;
    try {
      const [first] = await this.pile.more();
      this.#draw();
      if (first) this.looking.focus(first);
    } catch (error) {
      pressed.disabled = false;
      this.app.toast(this.app.sentence(error));
    }
  }

  #live() {
    const isLive = this.feed?.isLive;
    this.state.classList.toggle("on", Boolean(isLive));
    this.state.textContent = this.app.words.say(isLive ? "live" : "not_live");
  }

  /** Whom the buttons under the thumb are about. @param {import("./card.js").CommentCard} card */
  #about({ item }) {
    this.about.replaceChildren(h("bdi", null, this.app.words.name(item.comment.n)), ": ", h("bdi", null, item.comment.t.slice(0, GLIMPSE)));
  }

  // --- Deciding ------------------------------------------------------------------------------------------------------

  act(/** @type {string} */ action) {
    if (this.bulk.chosen.length) return this.#decideAll(action);
    if (this.looking.card) return this.decide(action, this.looking.card.id);
  }

  /** It leaves at once, and comes back when the server says no. @param {string} action @param {string} id @param {boolean} [withReason] */
  async decide(action, id, withReason = false) {
    const { app, pile } = this;
    const card = pile.cards.get(id);
    if (!card || this.busy.has(id)) return;
    const reason = withReason ? await askReason(app) : null;
    if ((withReason && !reason) || !(await mayGoOn(app, action)) || !pile.cards.has(id)) return;
    card.say("");
    const putBack = this.#take(id);
    this.busy.add(id);
    try {
      const entry = await decide(app, action, card.item, { expects: "pending", ...(reason ? { reason } : {}) });
      this.busy.delete(id);
      pile.gone(id);
      offer(app, app.words.say(`done_${action}`), () => this.#undo([entry], [id]));
    } catch (error) {
      this.busy.delete(id);
      await this.#refused(card, putBack, error);
    }
    this.#draw();
  }

  /** It goes, and the next one is looked at. @param {string} id */
  #take(id) {
    const isLookedAt = id === this.looking.id;
    const next = this.looking.leave(id);
    const putBack = this.pile.take(id);
    this.pile.waiting = Math.max(0, this.pile.waiting - 1);
    this.#draw();
    if (next) this.looking.focus(next);
    else if (isLookedAt) this.app.place.focus();
    return putBack;
  }

  /** @param {import("./card.js").CommentCard} card @param {() => void} putBack @param {any} error */
  async #refused(card, putBack, error) {
    const { app } = this;
    if (error.code === "already_decided" || error.status === 404) return void app.toast(app.sentence(error));
    putBack();
    if (error.code === "comment_changed") await card.changed();
    else card.say(app.sentence(error));
    this.looking.focus(card.id);
  }

  async #undo(/** @type {string[]} */ entries, /** @type {string[]} */ ids) {
    if (entries.length === 1) await undoOne(this.app, entries[0]);
    else {
      const answer = await this.app.api.call("POST", "/v1/moderation/undo", { ids: entries });
      const failed = Object.keys(answer.failed).length;
      if (failed) this.app.toast(this.app.words.say("some_not_undone", { n: failed }));
    }
    if (this.until.signal.aborted) return;
    for (const id of ids) this.pile.forgive(id);
    await this.refresh();
    this.looking.focus(ids[0]);
  }

  async #decideAll(/** @type {string} */ action) {
    const { app, pile } = this;
    const ids = this.bulk.chosen;
    if (!ids.length || this.bulk.isBusy || !(await mayGoOn(app, action, ids.length))) return;
    const seen = Object.fromEntries(ids.map((id) => [id, pile.cards.get(id)?.item.updated_at]));
    this.looking.rest(ids);
    await this.bulk.run(async () => {
      const { done, failed } = await app.api.call("POST", "/v1/moderation/bulk", { action, ids, seen, expects: "pending" });
      const decided = Object.keys(done);
      const next = pile.ids.find((id) => !(id in done) && !OVER.includes(failed[id]));
      for (const id of decided) {
        this.looking.leave(id);
        pile.take(id);
      }
      this.#draw();
      if (decided.length) offer(app, app.words.say(`done_all_${action}`, { n: decided.length }), () => this.#undo(Object.values(done), decided));
      this.#failed(failed);
      if (next) this.looking.focus(next);
      else app.place.focus();
      this.#soon(0);
    });
    if (!this.until.signal.aborted) this.looking.resume();
  }

  /** What could not be done says why; what somebody else has done goes. @param {Record<string, string>} failed codes by id */
  #failed(failed) {
    const { words } = this.app;
    const over = Object.keys(failed).filter((id) => OVER.includes(failed[id]));
    for (const id of over) {
      this.looking.leave(id);
      this.pile.take(id);
    }
    const rest = Object.keys(failed).filter((id) => !over.includes(id));
    for (const id of rest) this.pile.cards.get(id)?.say(words.say(words.has(`error_${failed[id]}`) ? `error_${failed[id]}` : "failed"));
    if (over.length) this.app.toast(words.say("some_decided", { n: over.length }));
    if (rest.length) this.app.toast(words.say("some_failed", { n: rest.length }));
  }

  // --- What the others do --------------------------------------------------------------------------------------------

  #claimed(/** @type {any} */ { comment_id, claimed_by }) {
    this.looking.claimed(comment_id, claimed_by ?? null);
  }

  #counted(/** @type {any} */ counts) {
    this.pile.waiting = counts.queue;
    this.total.textContent = this.app.words.say("waiting", { n: counts.queue });
  }

  async #decided(/** @type {any} */ { comment_id, status, by }) {
    const card = this.pile.cards.get(comment_id);
    if (!card || this.busy.has(comment_id)) return;
    const hadFocus = card.element.contains(document.activeElement);
    const name = await nameOf(this.app, by);
    if (!this.pile.cards.has(comment_id)) return;
    if (hadFocus) this.#take(comment_id);
    else {
      this.looking.leave(comment_id);
      this.pile.take(comment_id);
      this.#draw();
      if (!this.looking.id) this.looking.begin();
    }
    const author = this.app.words.name(card.item.comment.n);
    this.app.toast(this.app.words.say(`other_${status}`, { name, author }));
  }

  /** What reporters said, when it comes into view. */
  async #reports(/** @type {HTMLElement} */ element) {
    this.near.unobserve(element);
    const card = this.pile.cards.get(element.dataset.id ?? "");
    if (!card?.item.reports || card.hasReports) return;
    card.hasReports = true;
    try {
      card.reported((await this.app.api.get(`/v1/moderation/reports?comment_id=${card.id}&limit=20`)).items);
    } catch {
      card.hasReports = false;
    }
  }
}
