// A comment as moderators see it: what it says, who wrote it, where, and why it is here.

import { button, cleaned, h, webAddress, when } from "../ui.js";
import { surroundings } from "./context.js";
import { link } from "./places.js";

const LONG = 1200;
const NEW_DAYS = 7;
let count = 0;

/**
 * @typedef {object} Item what the API says of a comment; lists differ in how much
 * @property {any} comment
 * @property {string} [page_id]
 * @property {string} [page_url]
 * @property {string | null} [page_title]
 * @property {string} [status]
 * @property {string[]} [reasons]
 * @property {string[]} [flags]
 * @property {number} [reports]
 * @property {any} [claimed_by]
 * @property {string} [updated_at]
 * @property {any} [author]
 *
 * @typedef {{id: string, label: string, key?: string, kind?: string, then: () => any}} Action
 */

export class CommentCard {
  /**
   * @param {import("../shell.js").App} app @param {Item} item
   * @param {{actions?: (item: Item) => Action[], select?: (isOn: boolean) => void, showsStatus?: boolean, hasKeys?: boolean, more?: (item: Item) => any[], aside?: (item: Item) => HTMLElement}} [options]
   */
  constructor(app, item, options = {}) {
    this.app = app;
    this.options = options;
    this.title = h("span", { class: "sr", id: `comment-${++count}` });
    this.element = h("article", { class: "card comment", tabindex: "-1", "data-id": item.comment.i, "aria-labelledby": this.title.id });
    this.box = options.select ? h("input", { type: "checkbox", onchange: () => options.select?.(this.box.checked) }) : null;
    this.claim = h("p", { class: "claim", hidden: true });
    this.note = h("p", { class: "note", role: "alert", hidden: true });
    this.around = h("div", { class: "around", hidden: true });
    this.reporters = h("div", { class: "reporters", hidden: true });
    this.update(item);
  }

  get id() {
    return this.item.comment.i;
  }

  /** @param {Item} item */
  update(item) {
    const { app, options } = this;
    this.item = item;
    const name = app.words.name(item.comment.n);
    this.title.textContent = app.words.say("comment_by", { name });
    this.box?.setAttribute("aria-label", app.words.say("select_by", { name }));
    const long = item.comment.t.length > LONG;
    const body = h("div", { class: long ? "body long" : "body", dir: "auto" }, cleaned(item.comment.h));
    const whole = long ? button(app.words.say("show_all"), () => (body.classList.remove("long"), whole.remove()), { class: "quiet" }) : null;
    this.buttons = h("div", { class: "actions" });
    this.aside = options.aside?.(item) ?? null;
    this.element.replaceChildren(
      this.title,
      this.#head(name),
      this.#where(),
      body,
      ...(whole ? [whole] : []),
      ...this.#why(),
      this.reporters,
      ...(options.more?.(item) ?? []),
      this.claim,
      this.note,
      this.around,
      this.buttons,
    );
    this.actions();
    this.claimed(item.claimed_by);
  }

  /** The buttons, which may be others after something has happened to it. */
  actions() {
    const keyed = (/** @type {string | undefined} */ key) => (key ? h("kbd", { "aria-hidden": "true" }, key) : null);
    const made = (this.options.actions?.(this.item) ?? []).map((one) =>
      h("button", { type: "button", class: one.kind || null, "data-action": one.id, onclick: one.then }, one.label, keyed(one.key)),
    );
    this.opener ??= h("button", { type: "button", class: "quiet", "data-action": "context", onclick: () => this.context() });
    this.#openness();
    this.buttons.replaceChildren(...made, this.opener, ...(this.aside ? [this.aside] : []));
  }

  #openness() {
    const isOpen = !this.around.hidden;
    this.opener.setAttribute("aria-expanded", String(isOpen));
    this.opener.replaceChildren(this.app.words.say(isOpen ? "context_close" : "context"), ...(this.options.hasKeys ? [h("kbd", { "aria-hidden": "true" }, "o")] : []));
  }

  #head(/** @type {string} */ name) {
    const { app, item, options } = this;
    const isGone = item.comment.n === "[deleted]";
    const author = isGone ? h("strong", null, name) : h("a", { class: "author", href: link("people", { id: item.comment.a }) }, h("bdi", null, name));
    const status = options.showsStatus ? h("span", { class: `tag status-${this.status}` }, app.words.say(`status_${this.status}`)) : null;
    return h(
      "div",
      { class: "comment-head" },
      this.box ? h("span", { class: "select" }, this.box) : null,
      h("span", { class: "by" }, author, ...this.#badges(), status),
      h("span", { class: "age muted" }, when(app, item.comment.x), item.comment.e ? ` · ${app.words.say("edited")}` : ""),
      this.#record(),
    );
  }

  get status() {
    return this.item.status ?? this.item.comment.s ?? "approved";
  }

  #badges() {
    const { words } = this.app;
    const { author, comment } = this.item;
    const isGuest = author?.is_guest ?? words.isGuest(comment.n, comment.a);
    const isNew = author && !author.approved && (author.comments < 2 || Date.now() - Date.parse(author.created_at) < NEW_DAYS * 86_400_000);
    return [isGuest ? h("span", { class: "tag" }, words.say("badge_guest")) : null, isNew ? h("span", { class: "tag new" }, words.say("badge_new")) : null];
  }

  /** What became of the author's earlier ones. */
  #record() {
    const { words } = this.app;
    const { author } = this.item;
    if (!author) return null;
    const facts = [words.say("record_comments", { n: author.comments })];
    if (author.approved) facts.push(words.say("record_approved", { n: author.approved }));
    if (author.rejected) facts.push(words.say("record_rejected", { n: author.rejected }));
    return h("span", { class: author.rejected > author.approved ? "record warn" : "record muted" }, facts.join(" · "));
  }

  #where() {
    const { item } = this;
    const url = webAddress(item.page_url);
    const name = item.page_title || item.page_url?.replace(/^https?:\/\//, "") || this.app.words.say("page_unknown");
    return h("p", { class: "where muted" }, this.app.words.say(item.comment.q ? "reply_on" : "on_page"), " ", url ? h("a", { href: `${url}#comment-${this.id}`, target: "_blank", rel: "noopener noreferrer" }, h("bdi", null, name)) : h("bdi", null, name));
  }

  #why() {
    const { words } = this.app;
    const { reasons, flags, reports } = this.item;
    if (!reasons) return [];
    const lines = reasons.map((reason) => h("li", null, quoted(reason)));
    lines.push(...(flags ?? []).map((flag) => h("li", null, words.say("noted"), " ", quoted(flag))));
    if (!lines.length && this.status === "pending" && !reports) lines.push(h("li", null, words.say("reason_every")));
    return lines.length ? [h("ul", { class: "reasons", "aria-label": words.say("why_held") }, lines)] : [];
  }

  /** What reporters said. @param {any[]} reports */
  reported(reports) {
    const { words } = this.app;
    this.reporters.hidden = !reports.length;
    this.reporters.replaceChildren(
      h("p", { class: "reporters-title" }, words.say("reported_by", { n: reports.length })),
      h("ul", null, reports.map((one) => h("li", null, h("strong", null, words.say(`report_${one.reason}`)), one.details ? [" “", h("bdi", null, one.details), "”"] : null, h("span", { class: "muted" }, " — ", h("bdi", null, one.reporter ? words.name(one.reporter.name) : words.say("somebody")), " · ", when(this.app, Date.parse(one.created_at) / 1000))))),
    );
  }

  /** Who else is on it. @param {any} by */
  claimed(by) {
    clearTimeout(this.claimEnds);
    const left = by && by.id !== this.app.me.user.id ? Date.parse(by.until) - Date.now() : 0;
    this.isTaken = left > 0;
    this.claim.hidden = !this.isTaken;
    this.claim.textContent = this.isTaken ? this.app.words.say("is_on_it", { name: this.app.words.name(by.name) }) : "";
    if (this.isTaken) this.claimEnds = setTimeout(() => this.claimed(null), left);
  }

  /** Something to know about it; empty for nothing. @param {string} text @param {"error" | "warn"} [kind] */
  say(text, kind = "error") {
    this.note.hidden = !text;
    this.note.className = `note ${kind}`;
    this.note.textContent = text;
  }

  /** Show or hide the thread around it. */
  async context() {
    const { app, around } = this;
    around.hidden = !around.hidden;
    this.#openness();
    if (around.hidden) return;
    around.replaceChildren(h("p", { class: "muted" }, app.words.say("loading")));
    try {
      around.replaceChildren(surroundings(app, await app.api.get(`/v1/moderation/comments/${this.id}`)));
    } catch (error) {
      around.replaceChildren(h("p", { class: "error", role: "alert" }, app.sentence(error)));
    }
  }

  /** Its author has written something else since: show that. */
  async changed() {
    try {
      this.update({ ...this.item, ...(await this.app.api.get(`/v1/moderation/comments/${this.id}`)).item });
    } catch {
      // What it says now is there with the next look.
    }
    this.say(this.app.words.say("changed_meanwhile"), "warn");
  }

  /** Run what one of its buttons does: once at a time, and what goes wrong is said here. @param {() => Promise<any>} act */
  async run(act) {
    if (this.isBusy) return;
    this.isBusy = true;
    this.say("");
    try {
      await act();
    } catch (error) {
      if (/** @type {any} */ (error).code === "comment_changed") await this.changed();
      else this.say(this.app.sentence(error));
    }
    this.isBusy = false;
  }
}

/** A sentence of the server's; what stands in backticks is somebody's own words. @param {string} text */
function quoted(text) {
  return text.split("`").map((part, at) => (at % 2 ? h("q", null, h("bdi", null, part)) : part));
}
