// One comment on the screen, and how it changes. What happens on a click is decided in doing.js.

import { button, cleaned, h, icon, renew, webAddress } from "./dom.js";
import { DELETED } from "./thread.js";

const FOLD_AT = -5;
const DEEPEST_INDENT = 6;
const GONE = ["pending", "rejected", "spam"];
const ARROWS = { up: "M12 5l7 8h-4v6H9v-6H5z", down: "M12 19l-7-8h4V5h6v6h4z" };
const DOTS = "M5 10.5a1.5 1.5 0 110 3 1.5 1.5 0 010-3zm7 0a1.5 1.5 0 110 3 1.5 1.5 0 010-3zm7 0a1.5 1.5 0 110 3 1.5 1.5 0 010-3z";

/** What others say of a comment stays when it is drawn again. */
const KEPT = ["highlight", "fresh"];
const CARD = ["click", "focus", "pointerenter"];

/** @typedef {import("./comment").Comment} Comment */

export class CommentView {
  /** @param {any} app the element @param {Comment} comment */
  constructor(app, comment) {
    this.app = app;
    this.id = comment.id;
    this.isFolded = comment.up - comment.down <= FOLD_AT;
    this.isCollapsed = false;
    this.hasMenu = false;
    /** @type {any} the composer in which it is being changed */
    this.editing = null;
    this.list = h("ol", { class: "replies", role: "list" });
    this.body = h("div", { class: "body", part: "body", dir: "auto" });
    this.head = h("header", { class: "head", part: "comment-header" });
    this.actions = h("div", { class: "actions", part: "actions" });
    this.slot = h("div", { class: "slot" });
    this.more = h("div", { class: "more" });
    this.article = h(
      "article",
      { id: `comment-${comment.id}`, "data-testid": "comment", "data-id": comment.id, part: "comment", tabindex: "-1" },
      this.head,
      this.body,
      this.actions,
      this.slot,
    );
    this.element = h("li", { class: "item" }, this.article, this.list, this.more);
    this.update(comment);
    // Threads that are taken for low would all be drawn at once when somebody scrolls to them.
    if (!comment.parent) this.element.style.containIntrinsicBlockSize = `auto ${120 * [...app.thread.tree([comment.id])].length}px`;
  }

  /** @param {Comment} comment */
  update(comment) {
    const { app, article } = this;
    const depth = app.thread.depth(comment.id);
    const focused = this.actions.contains(app.shadowRoot.activeElement) ? app.shadowRoot.activeElement.dataset.action : null;
    this.element.classList.toggle("deep", depth >= DEEPEST_INDENT);
    this.element.classList.toggle("root", depth === 0);
    article.className = ["comment", comment.status, comment.sending && "sending", ...KEPT.filter((name) => article.classList.contains(name))].filter(Boolean).join(" ");
    article.setAttribute("aria-label", app.words.say("comment_by", { name: app.words.name(comment.name) }));
    renew(this.head, this.#head(comment));
    if (!this.editing) this.#body(comment);
    renew(this.actions, comment.status === DELETED || this.editing || this.isHidden(comment) ? [] : this.#actions(comment));
    this.replies(comment);
    if (focused && !app.shadowRoot.activeElement) this.actions.querySelector(`[data-action="${focused}"]`)?.focus({ preventScroll: true });
  }

  isHidden(/** @type {Comment} */ comment) {
    return this.isFolded && comment.status === "approved";
  }

  /** The line under a comment: what is collapsed, and what is not here yet. @param {Comment} comment */
  replies(comment) {
    const { words } = this.app;
    const here = comment.replies.length;
    this.list.hidden = this.isCollapsed || here === 0;
    const parts = [];
    if (here && this.isCollapsed) parts.push(button(words.say("show_replies", { n: here + comment.more }), () => this.collapse(false), { class: "quiet", "aria-expanded": "false", "data-action": "expand" }));
    else if (comment.more) parts.push(button(words.say("more_replies", { n: comment.more }), (event) => this.app.do("loadReplies", this.id, event.currentTarget), { class: "quiet", "data-action": "more" }));
    renew(this.more, parts);
  }

  collapse(/** @type {boolean} */ isCollapsed) {
    this.isCollapsed = isCollapsed;
    const comment = this.app.thread.comments.get(this.id);
    if (!comment) return;
    this.update(comment);
    (isCollapsed ? this.more.querySelector("button") : this.list.querySelector("article"))?.focus({ preventScroll: true });
  }

  /** @param {Comment} comment */
  #head(comment) {
    const { app } = this;
    const { words } = app;
    if (comment.status === DELETED) return [h("span", { class: "muted" }, words.say("deleted"))];
    const name = words.name(comment.name);
    const isGuest = words.isGuest(comment.name, comment.author);
    const role = app.site?.staff?.[comment.author];
    const badges = [
      role && [words.say(`role_${role}`), "staff"],
      app.isPageAuthor(comment) && [words.say("author"), "author"],
      isGuest && [words.say("guest"), "guest"],
      app.thread.pinned.has(comment.id) && [words.say("pinned"), "pinned"],
      GONE.includes(comment.status) && [words.say(comment.status === "pending" ? "waiting" : "not_shown"), "waiting"],
    ].filter(Boolean);
    const link = h(
      "a",
      { href: `#comment-${comment.id}`, class: "time", "data-action": "link", title: words.date(comment.created), onclick: (/** @type {Event} */ event) => app.follow(event, comment.id) },
      h("time", { datetime: new Date(comment.created * 1000).toISOString() }, words.ago(comment.created)),
    );
    const answers = comment.answers && comment.answers !== comment.parent ? app.thread.comments.get(comment.answers) : null;
    return [
      avatar(app, comment),
      h(
        "button",
        { type: "button", class: "name", part: "name", "data-action": comment.author, ...Object.fromEntries(CARD.map((what) => [`on${what}`, (/** @type {Event} */ event) => app.do("showCard", event.currentTarget, event, comment)])) },
        h("bdi", null, name),
      ),
      ...badges.map((badge) => h("span", { class: `badge ${/** @type {any} */ (badge)[1]}`, part: "badge" }, /** @type {any} */ (badge)[0])),
      link,
      comment.edited && h("span", { class: "muted", title: words.date(comment.modified) }, words.say("edited")),
      answers && h("span", { class: "muted" }, words.say("in_reply_to", { name: words.name(answers.name) })),
    ].filter(Boolean);
  }

  /** @param {Comment} comment */
  #body(comment) {
    const { words } = this.app;
    const show = () => {
      this.isFolded = false;
      this.app.refresh(this.id);
      this.article.focus();
    };
    if (comment.status === DELETED) renew(this.body, []);
    else if (this.isHidden(comment)) renew(this.body, [h("span", { class: "muted" }, words.say("folded")), button(words.say("show"), show, { class: "quiet", "data-action": "show" })]);
    else renew(this.body, [...cleaned(comment.html).childNodes]);
  }

  /** @param {Comment} comment */
  #actions(comment) {
    const { app } = this;
    const { words } = app;
    if (comment.sending) return [h("span", { class: "muted" }, words.say("sending"))];
    const votes = app.site?.voting ?? "on";
    const isApproved = comment.status === "approved";
    const count = comment.up - (votes === "up" ? 0 : comment.down);
    const shows = app.site?.display?.show_vote_counts !== false;
    return [
      votes !== "off" &&
        isApproved &&
        h(
          "span",
          { class: "votes", part: "votes" },
          this.#vote(comment, "up"),
          shows && h("span", { class: "count", title: words.say("vote_title", { up: comment.up, down: comment.down }) }, words.numbers.format(count)),
          votes === "on" && this.#vote(comment, "down"),
        ),
      isApproved && !app.isClosed && button(words.say("reply"), () => app.do("reply", comment.id), { class: "quiet", "data-action": "reply" }),
      comment.replies.length > 0 &&
        !this.isCollapsed &&
        button(words.say("collapse"), () => this.collapse(true), { class: "quiet", "aria-expanded": "true", "data-action": "collapse" }),
      h(
        "button",
        {
          type: "button",
          class: "quiet round",
          "data-testid": "comment-menu",
          "data-action": "menu",
          "aria-haspopup": "menu",
          "aria-expanded": String(this.hasMenu),
          "aria-label": words.say("menu"),
          onclick: (/** @type {Event} */ event) => app.do("openMenu", event.currentTarget, comment.id),
        },
        icon(DOTS),
      ),
    ].filter(Boolean);
  }

  /** @param {Comment} comment @param {"up" | "down"} direction */
  #vote(comment, direction) {
    const isMine = comment.vote === direction;
    return h(
      "button",
      {
        type: "button",
        class: `vote ${direction}`,
        "data-action": direction,
        "aria-pressed": String(isMine),
        "aria-label": this.app.words.say(direction === "up" ? "upvote" : "downvote"),
        onclick: () => this.app.do("vote", comment.id, direction),
      },
      icon(ARROWS[direction]),
    );
  }
}

/** Put elements in order without touching a list that is in order. @param {HTMLElement} list @param {HTMLElement[]} elements */
export function arrange(list, elements) {
  if (elements.length !== list.children.length || elements.some((one, at) => list.children[at] !== one)) list.replaceChildren(...elements);
}

/** Somebody's picture: their own, or their initial on a colour that stays theirs. @param {any} app @param {{avatar?: string | null, name: string, author: string}} who */
export function avatar(app, who) {
  const initial = [...app.words.name(who.name)][0]?.toUpperCase() ?? "?";
  const colour = [...who.author].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 8, 0);
  const drawn = h("span", { class: `avatar c${colour}`, part: "avatar", "aria-hidden": "true" }, initial);
  const own = webAddress(who.avatar);
  if (!own) return drawn;
  const image = h("img", { class: "avatar", part: "avatar", src: own, alt: "", width: "32", height: "32", loading: "lazy", referrerpolicy: "no-referrer" });
  image.addEventListener("error", () => image.replaceWith(drawn), { once: true });
  return image;
}
