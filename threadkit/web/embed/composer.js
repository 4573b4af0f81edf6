// Writing: a box that grows, Markdown at hand, a draft that survives, and a text that is never lost.

import { Refused } from "./api.js";
import { add, drop, settle } from "./changes.js";
import { button, cleaned, h, icon } from "./dom.js";
import { NOBODY, contentOf } from "./thread.js";

const DRAFT_DAYS = 14;
/** @type {Record<string, string>} */
const PICTURES = {
  bold: "M7 5h6a3.5 3.5 0 012 6.4A3.8 3.8 0 0113.5 19H7zm3 2.5v3h2.5a1.5 1.5 0 000-3zm0 5.5v3.5h3a1.7 1.7 0 000-3.5z",
  italic: "M10 5h8v2.4h-2.9l-3.2 9.2H15V19H6v-2.4h3l3.2-9.2H10z",
  link: "M10.6 13.4a1 1 0 010-1.4l3.5-3.5a3 3 0 114.2 4.2l-2 2a1 1 0 11-1.4-1.4l2-2a1 1 0 00-1.4-1.4L12 13.4a1 1 0 01-1.4 0zm2.8-2.8a1 1 0 010 1.4l-3.5 3.5a3 3 0 11-4.2-4.2l2-2a1 1 0 111.4 1.4l-2 2a1 1 0 001.4 1.4l3.5-3.5a1 1 0 011.4 0z",
  code: "M8.7 7.3L4 12l4.7 4.7 1.4-1.4L6.8 12l3.3-3.3zm6.6 0L13.9 8.7l3.3 3.3-3.3 3.3 1.4 1.4L20 12z",
  quote: "M6 7h5v5c0 3-1.5 5-4 5v-2c1.2 0 2-1 2-2.5H6zm8 0h5v5c0 3-1.5 5-4 5v-2c1.2 0 2-1 2-2.5h-3z",
  list: "M4 6h2v2H4zm4 0h12v2H8zM4 11h2v2H4zm4 0h12v2H8zm-4 5h2v2H4zm4 0h12v2H8z",
};
/** @type {[string, string, string, string][]} what, before, after, and the key with Ctrl */
const TOOLS = [
  ["bold", "**", "**", "b"],
  ["italic", "*", "*", "i"],
  ["link", "[", "](https://)", "k"],
  ["code", "`", "`", "e"],
  ["quote", "\n> ", "", ""],
  ["list", "\n- ", "", ""],
];

export class Composer {
  /** @param {any} app @param {{parent?: string, edit?: string, text?: string}} about the comment that is answered, or changed; and a text to begin with */
  constructor(app, about) {
    this.app = app;
    this.about = about;
    this.thread = app.thread;
    this.shownAt = Date.now();
    const { words } = app;
    const kind = about.edit ? "edit" : about.parent ? "reply" : "write";
    const name = about.parent ? words.name(app.thread.comments.get(about.parent)?.name ?? "") : "";
    this.slot = `threadkit:draft:${app.api.project}:${app.thread.page.page_id ?? app.thread.page.page_url}:${about.parent ?? ""}`;
    this.box = h("textarea", {
      rows: "2",
      class: "box",
      part: "textarea",
      dir: "auto",
      placeholder: words.say(`${kind}_placeholder`, { name }),
      "aria-label": words.say(`${kind}_placeholder`, { name }),
      "aria-autocomplete": "list",
      oninput: () => this.#typed(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      onfocus: () => this.#focused(),
      onblur: () => (this.people.hidden = true),
    });
    this.trap = h("input", { class: "trap", tabindex: "-1", autocomplete: "off", "aria-hidden": "true", name: "website" });
    this.tools = h("div", { class: "toolbar", role: "toolbar", "aria-label": words.say("formatting") }, ...TOOLS.map((tool) => this.#tool(tool)));
    this.previewing = button(words.say("preview"), () => this.#preview(), { class: "quiet", "aria-pressed": "false" });
    this.shown = h("div", { class: "preview body", part: "preview", hidden: true, dir: "auto" });
    this.counter = h("span", { class: "muted counter", "aria-live": "off" });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.submit = button(words.say(about.edit ? "save" : about.parent ? "post_reply" : "post"), () => this.send(), { class: "primary", part: "submit" });
    this.people = h("ul", { class: "people", role: "listbox", "aria-label": words.say("people"), hidden: true });
    this.box.value = about.edit ? (about.text ?? "") : about.text || this.#draft();
    this.element = h(
      "div",
      { class: about.parent || about.edit || this.box.value ? "composer open" : "composer", part: "composer" },
      this.tools,
      h("div", { class: "field" }, this.box, this.people, this.shown),
      this.trap,
      this.error,
      h("div", { class: "row" }, this.previewing, this.counter, (about.parent || about.edit) && button(words.say("cancel"), () => this.close(true), { class: "quiet" }), this.submit),
    );
    this.#grow();
    this.#count();
    if (about.text) this.#keep();
  }

  focus() {
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
  }

  /** @param {boolean} [giveBack] where the focus goes back to */
  close(giveBack = false) {
    this.element.remove();
    if (this.app.replying === this) this.app.replying = null;
    if (this.about.edit) {
      const view = this.app.views.get(this.about.edit);
      if (view) view.editing = null;
      this.app.refresh(this.about.edit);
    }
    const id = this.about.edit ?? this.about.parent;
    if (giveBack && id) this.app.views.get(id)?.article.focus({ preventScroll: true });
  }

  /** What it belongs to is gone: what is written here goes on in the box above the comments. */
  async move() {
    const { app, about, box } = this;
    const text = box.value;
    if (this.isSending || app.thread !== this.thread) return;
    this.close();
    if (!text.trim() || (about.edit && text === about.text)) return;
    box.value = "";
    this.#keep();
    (await app.compose()).put(text);
    app.announce(app.words.say("text_moved"), true);
  }

  /** Add to what is written here. @param {string} text */
  put(text) {
    this.box.value = [this.box.value.trim(), text].filter(Boolean).join("\n\n");
    this.element.classList.add("open");
    this.#grow();
    this.#count();
    this.#keep();
  }

  // --- Typing --------------------------------------------------------------------------------------------------------

  #focused() {
    this.element.classList.add("open");
    // Sites that let no guests in ask before somebody has written a page.
    const { app } = this;
    const mayBeGuest = app.site?.methods?.some((/** @type {any} */ way) => way.type === "anonymous");
    if (!app.api.session && app.site && !mayBeGuest && !this.wasAsked) {
      this.wasAsked = true;
      app.person("write").then((/** @type {any} */ person) => person && this.focus());
    }
  }

  #typed() {
    this.#grow();
    this.#count();
    this.#keep();
    this.#complete();
    this.app.live?.typing(this.about.parent ?? null);
  }

  #grow() {
    this.box.rows = Math.min(16, Math.max(2, this.box.value.split("\n").length + Math.floor(this.box.value.length / 90)));
  }

  #count() {
    const most = this.app.site?.max_comment_length ?? 10_000;
    const left = most - [...this.box.value].length;
    this.counter.textContent = left < most / 5 ? this.app.words.say("characters_left", { n: left }) : "";
    this.counter.classList.toggle("over", left < 0);
    this.submit.disabled = this.isSending || left < 0 || !this.box.value.trim();
  }

  #draft() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.slot) ?? "null");
      return kept && Date.now() - kept.at < DRAFT_DAYS * 86_400_000 ? kept.text : "";
    } catch {
      return "";
    }
  }

  #keep() {
    if (this.about.edit) return;
    try {
      if (this.box.value.trim()) localStorage.setItem(this.slot, JSON.stringify({ text: this.box.value, at: Date.now() }));
      else localStorage.removeItem(this.slot);
    } catch {
      // Then the draft lives as long as the page.
    }
  }

  #key(/** @type {KeyboardEvent} */ event) {
    if (!this.people.hidden && this.#choose(event)) return;
    const hasModifier = event.ctrlKey || event.metaKey;
    if (hasModifier && event.key === "Enter") {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && (this.about.parent || this.about.edit)) {
      event.stopPropagation();
      this.close(true);
    } else if (hasModifier) {
      const tool = TOOLS.find((one) => one[3] && one[3] === event.key.toLowerCase());
      if (tool) {
        event.preventDefault();
        this.#wrap(tool[1], tool[2]);
      }
    }
  }

  /** @param {[string, string, string, string]} tool */
  #tool([name, before, after, key]) {
    const label = this.app.words.say(`tool_${name}`);
    return h(
      "button",
      { type: "button", class: "quiet round", "aria-label": label, title: key ? `${label} (Ctrl+${key.toUpperCase()})` : label, onclick: () => this.#wrap(before, after) },
      icon(PICTURES[name]),
    );
  }

  #wrap(/** @type {string} */ before, /** @type {string} */ after) {
    const { selectionStart: from, selectionEnd: to, value } = this.box;
    const lead = before.startsWith("\n") && (from === 0 || value[from - 1] === "\n") ? before.slice(1) : before;
    this.box.setRangeText(lead + value.slice(from, to) + after, from, to, "end");
    const at = from + lead.length + (to - from);
    this.box.focus();
    this.box.setSelectionRange(at, at);
    this.#typed();
  }

  async #preview(isOn = this.previewing.getAttribute("aria-pressed") !== "true") {
    this.previewing.setAttribute("aria-pressed", String(isOn));
    this.previewing.textContent = this.app.words.say(isOn ? "write" : "preview");
    this.box.hidden = this.tools.hidden = isOn;
    this.shown.hidden = !isOn;
    if (!isOn) return this.box.focus();
    try {
      const { html } = await this.app.api.call("POST", "/v1/comments/preview", { content: this.box.value });
      this.shown.replaceChildren(cleaned(html));
    } catch (error) {
      this.shown.replaceChildren(this.app.sentence(error));
    }
  }

  // --- Names ---------------------------------------------------------------------------------------------------------

  #complete() {
    const before = this.box.value.slice(0, this.box.selectionStart);
    const asked = /(?:^|\s)@([A-Za-z0-9_-]*)$/.exec(before)?.[1];
    const found = asked === undefined ? [] : names(this.app.thread).filter((/** @type {string} */ name) => name.toLowerCase().startsWith(asked.toLowerCase())).slice(0, 5);
    this.people.hidden = !found.length;
    this.people.replaceChildren(
      ...found.map((/** @type {string} */ name, /** @type {number} */ at) =>
        h("li", { role: "option", id: `tk-name-${at}`, "aria-selected": String(at === 0), onmousedown: (/** @type {Event} */ event) => (event.preventDefault(), this.#name(name)) }, `@${name}`),
      ),
    );
    if (found.length) this.box.setAttribute("aria-activedescendant", "tk-name-0");
    else this.box.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #choose(event) {
    const options = /** @type {HTMLElement[]} */ ([...this.people.children]);
    const at = options.findIndex((one) => one.getAttribute("aria-selected") === "true");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = (at + step + options.length) % options.length;
      options.forEach((one, number) => one.setAttribute("aria-selected", String(number === next)));
      this.box.setAttribute("aria-activedescendant", options[next].id);
    } else if (event.key === "Enter" || event.key === "Tab") this.#name((options[at].textContent ?? "").slice(1));
    else if (event.key === "Escape") this.people.hidden = true;
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #name(/** @type {string} */ name) {
    const at = this.box.selectionStart;
    const from = this.box.value.slice(0, at).lastIndexOf("@");
    this.box.setRangeText(`@${name} `, from, at, "end");
    this.people.hidden = true;
    this.#typed();
  }

  // --- Sending -------------------------------------------------------------------------------------------------------

  async send() {
    const text = this.box.value;
    if (!text.trim() || this.isSending) return;
    this.isSending = true;
    this.error.hidden = true;
    this.#count();
    try {
      if (!(await this.app.person("write"))) this.focus();
      else await (this.about.edit ? this.#edit(text) : this.#post(text));
    } catch (error) {
      this.#failed(error);
    }
    this.isSending = false;
    this.#count();
    const id = this.about.edit ?? this.about.parent;
    if (id && this.box.value && !this.thread.comments.has(id)) this.move();
  }

  async #post(/** @type {string} */ text) {
    const { app, about, thread } = this;
    const draftId = `draft-${Date.now()}`;
    const { parent } = about;
    const path = parent && thread.path(parent);
    const now = Math.floor(Date.now() / 1000);
    // On the screen at once, and taken back if the server says no.
    add(thread, { i: draftId, a: app.api.user.id, n: app.api.user.name, p: app.api.user.avatar_url, k: 0, t: text, h: "", u: 0, d: 0, x: now, m: now, ...(parent ? { q: parent } : {}) });
    const draft = thread.comments.get(draftId);
    if (draft) Object.assign(draft, { sending: true, html: h("p", null, text).outerHTML });
    app.show(draftId);
    this.element.hidden = Boolean(parent);
    // Sent again after an answer that never came, it is the same comment.
    this.key ??= draftId + Math.random().toString(36).slice(2);
    try {
      const answer = await app.api.call(
        "POST",
        "/v1/comments",
        {
          ...thread.page,
          title: (app.getAttribute("title") ?? document.title).slice(0, 500),
          content: text,
          ...(parent ? { parent_path: path.length ? path : [parent] } : {}),
          website: this.trap.value,
          form_age_ms: Date.now() - this.shownAt,
        },
        { headers: { "idempotency-key": this.key, ...(await this.#human()) } },
      );
      this.key = undefined;
      const view = app.views.get(draftId);
      settle(thread, draftId, answer.comment);
      app.views.delete(draftId);
      if (thread !== app.thread || app.views.has(answer.comment.i) || !thread.comments.has(answer.comment.i)) view?.element.remove();
      else view?.element.replaceWith(app.viewOf(answer.comment.i).element);
      app.summary();
      if (this.box.value.startsWith(text)) this.box.value = this.box.value.slice(text.length).trimStart();
      this.#keep();
      this.#grow();
      if (this.box.hidden) this.#preview(false);
      const isWaiting = answer.comment.s === "pending";
      app.announce(app.words.say(isWaiting ? "waiting_long" : "posted"), isWaiting);
      app.tell("posted", { id: answer.comment.i, status: answer.comment.s ?? "approved" });
      app.live?.stopTyping();
      if (parent) this.close();
      app.views.get(answer.comment.i)?.article.focus({ preventScroll: true });
    } catch (error) {
      drop(thread, draftId);
      app.refresh(draftId);
      if (parent) app.refresh(parent);
      app.summary();
      this.element.hidden = false;
      throw error;
    } finally {
      app.live?.echoed();
    }
  }

  /** Shows that a person is writing, where the site asks for it. @returns {Promise<Record<string, string>>} */
  async #human() {
    const asked = this.app.site?.turnstile;
    if (!asked?.enabled || !asked.site_key || asked.enforce_on === "none") return {};
    if (asked.enforce_on !== "all" && this.app.api.user?.email_verified) return {};
    const { humanToken } = await import("./auth.js");
    const token = await humanToken(this.app, asked.site_key);
    return token ? { "x-turnstile-token": token } : {};
  }

  async #edit(/** @type {string} */ text) {
    const { app, about } = this;
    const answer = await app.api.call("PUT", `/v1/comments/${about.edit}`, { content: text });
    Object.assign(app.thread.comments.get(about.edit) ?? {}, contentOf(answer), { edited: true });
    this.box.value = "";
    this.close(true);
    app.announce(app.words.say(answer.s === "pending" ? "waiting_long" : "saved"), answer.s === "pending");
  }

  #failed(/** @type {any} */ error) {
    this.error.textContent = this.app.sentence(error);
    this.error.hidden = false;
    this.app.tell("error", { code: error.code ?? "", message: error.message });
    if (error instanceof Refused && error.code === "username_required") import("./account.js").then(({ openAccount }) => openAccount(this.app, this.submit));
    this.box.focus();
  }
}

/** Whom one can address: members who take part. @param {import("./thread.js").Thread} thread @returns {string[]} */
function names(thread) {
  const found = new Map();
  for (const { author, name } of thread.comments.values()) if (author !== NOBODY && !name.startsWith("__anon")) found.set(name.toLowerCase(), name);
  return [...found.values()];
}
