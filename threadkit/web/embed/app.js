// <thread-kit>: what visitors see. It shows the thread; what is needed only later is loaded later.

import { Api, Refused, Unreachable } from "./api.js";
import { button, h, icon } from "./dom.js";
import { Thread } from "./thread.js";
import { CommentView, arrange } from "./view.js";
import { Words } from "./words.js";

const SORTS = ["top", "hot", "new", "old", "controversial"];
const TICK_MS = 60_000;
const WINDOW = 25;
const WIDEST_WINDOW = 100;
const SCREENFUL = 10;
const SLICE_MS = 16;
const TRY_AGAIN_MS = [600, 2000];
const BELL = "M12 3a6 6 0 00-6 6v4l-2 3h16l-2-3V9a6 6 0 00-6-6zm-2 15a2 2 0 004 0z";
const kit = /** @type {any} */ (globalThis).ThreadKit;

export class ThreadKitElement extends HTMLElement {
  static observedAttributes = ["project", "page-id", "url", "sort", "theme", "lang", "mode", "sso"];

  /** @type {Api} */ api;
  /** @type {Words} */ words;
  /** @type {any} */ site = null;
  thread = new Thread();
  /** @type {Map<string, CommentView>} */
  views = new Map();
  /** @type {any} */ live = null;
  /** @type {any} */ composer = null;
  /** @type {any} */ replying = null;
  /** @type {any} */ framing = null;
  /** @type {any} */ copy = null;
  #isBuilt = false;
  #round = 0;
  #drawing = 0;
  #loads = 0;
  /** @type {any} how a thread is being loaded that somebody waits for */
  #awaited = null;
  /** @type {Promise<boolean>} */
  loading = Promise.resolve(true);
  /** @type {Promise<any>} when all that is known is on the screen */
  drawn = Promise.resolve();
  /** @type {Promise<void> | undefined} */
  #dressed;
  /** @type {Promise<any> | undefined} */
  #asked;
  /** @type {any} */
  #doing;

  connectedCallback() {
    if (this.getAttribute("loading") === "lazy") kit.whenSeen(this, () => this.isConnected && this.#begin());
    else this.#begin();
  }

  #begin() {
    this.getAttribute("mode") === "iframe" ? this.#frame() : this.#start();
  }

  disconnectedCallback() {
    this.#round += 1;
    this.live?.close();
    this.api?.close();
    this.framing?.end();
    this.live = this.api = this.framing = /** @type {any} */ (null);
    clearInterval(this.ticking);
    removeEventListener("hashchange", this.hashed);
    this.#isBuilt = false;
  }

  attributeChangedCallback(/** @type {string} */ name, /** @type {string | null} */ before, /** @type {string | null} */ after) {
    if (before === after) return;
    if (this.framing && (name === "theme" || name === "lang")) this.framing.set(name, after);
    else if (this.framing) this.#begin();
    else if (!this.#isBuilt) return;
    else if (name === "theme") this.#look();
    else if (name === "sso") this.do("welcome", after);
    else if (name === "sort") this.reload({ isHere: true });
    else this.#begin();
  }

  async #frame() {
    const round = ++this.#round;
    const { framed } = await import("./framed.js");
    if (round !== this.#round) return;
    this.framing?.end();
    this.framing = framed(this, kit);
  }

  async #start() {
    const round = ++this.#round;
    try {
      await this.#show(round);
    } catch (/** @type {any} */ error) {
      if (round !== this.#round) return;
      // Not even words are there.
      this.shadowRoot?.replaceChildren(h("p", null, "The comments could not be loaded. ", button("Try again", () => this.#begin())));
      this.tell("error", { code: error.code ?? "", message: error.message });
    }
  }

  async #show(/** @type {number} */ round) {
    const project = this.getAttribute("project");
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    if (!project) return void root.replaceChildren(h("p", null, "ThreadKit: the attribute project is missing."));
    this.live?.close();
    this.live = null;
    if (this.api?.project !== project) {
      this.api?.close();
      this.api = new Api(kit.base, project, kit.early);
      this.site = null;
      this.api.addEventListener("session", () => this.#session());
    }
    const lang = kit.language(this.getAttribute("lang"));
    const [style, strings] = await Promise.all([this.#asset("style.css", "text"), this.#asset(`locales/${lang}.json`, "json")]);
    if (round !== this.#round) return;
    this.words = new Words({ ...strings, ...kit.strings, ...kit.strings[lang] }, lang);
    root.adoptedStyleSheets = [sheetOf(style)];
    this.#dressed = this.#doing = undefined;
    this.#build();
    this.#isBuilt = true;
    if (this.hasAttribute("sso")) await this.do("welcome", this.getAttribute("sso"));
    await this.reload();
    if (round !== this.#round) return;
    addEventListener("hashchange", this.hashed);
    clearInterval(this.ticking);
    this.ticking = setInterval(() => this.do("tick"), TICK_MS);
    this.tell("ready", { total: this.thread.total });
    this.#later();
  }

  /** @param {string} name @param {"text" | "json"} kind */
  async #asset(name, kind) {
    const url = kit.address(name);
    for (let tries = 0; ; tries++) {
      if (!kit.early.has(url)) kit.early.set(url, fetch(url));
      try {
        const answer = await kit.early.get(url);
        if (!answer.ok) throw new Refused(answer.status, { error: `${name}: ${answer.status}` });
        return await answer.clone()[kind]();
      } catch (error) {
        kit.early.delete(url);
        if (tries >= TRY_AGAIN_MS.length) throw error;
      }
      await pause(TRY_AGAIN_MS[tries]);
    }
  }

  /** The looks of all that opens later, which works without them too. */
  #dress() {
    return (this.#dressed ??= this.#asset("later.css", "text").then(
      (style) => void this.shadowRoot?.adoptedStyleSheets.push(sheetOf(style)),
      (error) => {
        this.#dressed = undefined;
        this.tell("error", { code: error.code ?? "", message: error.message });
      },
    ));
  }

  /** A module with its looks. @template T @param {Promise<T>} module @returns {Promise<T>} */
  async #with(module) {
    await this.#dress();
    return module;
  }

  #build() {
    const { words } = this;
    this.#drawing += 1;
    this.views.clear();
    this.#awaited = null;
    this.#asked = undefined;
    const pageId = this.getAttribute("page-id");
    this.thread = new Thread({ page_url: this.getAttribute("url") || kit.canonical(), ...(pageId ? { page_id: pageId } : {}) });
    this.replying = null;
    this.unreadCount = 0;
    this.status = h("div", { class: "sr", role: "status", "aria-live": "polite" });
    this.count = h("h2", { "data-testid": "comment-count", part: "count" }, words.say("comments_title"));
    this.presence = h("span", { class: "muted presence", "data-testid": "presence-count", hidden: true });
    this.connection = h("span", { class: "connection muted", "data-testid": "connection-status" }, words.say("disconnected"));
    this.sorter = h(
      "select",
      { "data-testid": "sort-dropdown", "aria-label": words.say("sort"), part: "sort", onchange: () => this.setAttribute("sort", this.sorter.value), disabled: true },
      SORTS.map((sort) => h("option", { value: sort }, words.say(`sort_${sort}`))),
    );
    this.bell = h(
      "button",
      { type: "button", class: "quiet round bell", "aria-haspopup": "dialog", "aria-label": words.say("notifications"), hidden: true, onclick: () => this.do("openNotifications", this.bell) },
      icon(BELL),
      h("span", { class: "unread", hidden: true }),
    );
    this.account = h("button", { type: "button", class: "quiet account", "aria-haspopup": "dialog", part: "account", onclick: () => this.do("openAccount", this.account) });
    this.place = h("div", { class: "composer-place" });
    this.banner = h("div", { class: "banner", part: "banner", hidden: true });
    this.notice = h("div", { class: "notice", hidden: true });
    this.list = h("ol", { class: "list", role: "list", part: "list" });
    this.foot = h("div", { class: "foot" });
    this.typing = h("p", { class: "typing muted", "aria-live": "polite" });
    this.layer = h("div", { class: "layer" });
    this.root = h(
      "section",
      { class: "tk", part: "root", "data-threadkit-root": true, lang: words.lang, dir: words.dir, "aria-label": words.say("comments_title") },
      this.status,
      h("header", { class: "top", part: "header" }, this.count, h("div", { class: "tools" }, this.presence, this.connection, this.sorter, this.bell, this.account)),
      this.place,
      this.notice,
      this.banner,
      this.list,
      this.foot,
      this.typing,
      this.layer,
    );
    this.#look();
    this.shadowRoot?.replaceChildren(this.root);
    this.composer = null;
    this.place.replaceChildren(this.#box());
    this.#skeleton();
    this.#who();
  }

  #look() {
    this.root.dataset.theme = this.getAttribute("theme") ?? "auto";
  }

  #skeleton() {
    this.list.setAttribute("aria-busy", "true");
    this.list.replaceChildren(...[0, 1, 2].map(() => h("li", { class: "item skeleton", "aria-hidden": "true" }, h("div"), h("div"), h("div"))));
  }

  /** A box to write in that becomes a composer as soon as somebody wants to. */
  #box() {
    const box = h("textarea", { rows: "2", class: "box", part: "textarea", placeholder: this.words.say("write_placeholder"), "aria-label": this.words.say("write_placeholder") });
    box.addEventListener("focus", () => this.compose(), { once: true });
    return h("div", { class: "composer", part: "composer" }, h("div", { class: "field" }, box));
  }

  async compose() {
    if (this.composer) return this.composer;
    const { Composer } = await this.#with(import("./composer.js"));
    if (this.composer) return this.composer;
    const box = /** @type {HTMLTextAreaElement} */ (this.place.querySelector("textarea"));
    const hadFocus = this.shadowRoot?.activeElement === box;
    this.composer = new Composer(this, { text: box?.value });
    this.place.replaceChildren(this.composer.element);
    if (hadFocus) this.composer.focus();
    return this.composer;
  }

  // --- Reading -------------------------------------------------------------------------------------------------------

  get sort() {
    return this.getAttribute("sort") ?? this.site?.display?.default_sort ?? "top";
  }

  /** How this page is named in every call about it. */
  get page() {
    return this.thread.page;
  }

  get permalink() {
    return kit.permalink();
  }

  /** What the server says about this thread; nothing when another page, or the thread loaded anew, took its place meanwhile. @param {string} path */
  async ask(path) {
    const { thread } = this;
    const { taken } = thread;
    const isOver = () => thread !== this.thread || taken !== thread.taken;
    try {
      const answer = await this.api.get(path);
      return isOver() ? null : answer;
    } catch (error) {
      if (isOver()) return null;
      throw error;
    }
  }

  /** Load the thread anew: `isHere` when somebody is reading it already, `quietly` when they did not ask for it. Says whether it could. @param {{quietly?: boolean, isHere?: boolean, keepsReplies?: boolean}} [how] @returns {Promise<boolean>} */
  reload(how = {}) {
    if (!how.quietly) this.#awaited = how;
    return (this.loading = this.#load(this.#awaited ?? how));
  }

  async #load(/** @type {any} */ how) {
    const load = ++this.#loads;
    const { thread } = this;
    const isHere = how.isHere || how.quietly;
    const limit = how.quietly ? Math.min(WIDEST_WINDOW, Math.max(WINDOW, thread.roots.length)) : WINDOW;
    const { page_id: pageId, page_url: url } = thread.page;
    const sort = this.getAttribute("sort");
    if (!how.quietly) this.list.setAttribute("aria-busy", "true");
    try {
      let age = null;
      const heed = (/** @type {any} */ headers) => (age = headers.get("warning") && headers.get("age"));
      const path = kit.question({ pageId, url, sort, limit, around: isHere ? "" : undefined });
      const [answer, , changes] = await Promise.all([this.api.get(path, { heed }), this.#settings(), thread.pageId ? import("./changes.js") : null]);
      if (thread !== this.thread) return false;
      if (load !== this.#loads) return this.loading; // what was asked for later holds
      this.#awaited = null;
      if (age || this.copy) this.do("asOf", age);
      thread.take(answer, { sort: this.sort, then: (now, before) => changes?.carry(now, before, how.keepsReplies) });
      this.drawn = this.showAll();
      this.live?.taken();
      if (this.api.session) this.do("ownVotes");
      if (!isHere) this.#permalink();
      return true;
    } catch (/** @type {any} */ error) {
      if (thread !== this.thread) return false;
      if (load !== this.#loads) return this.loading;
      this.#awaited = null;
      if (how.quietly && thread.pageId) return false;
      if (isHere || error.code !== "comment_not_found") return this.#failed(error);
      const isLoaded = await this.reload({ isHere: true });
      this.#permalink();
      return isLoaded;
    }
  }

  async #settings() {
    this.site ??= await this.api.get("/v1/site");
  }

  async showAll() {
    const { thread, words, views } = this;
    this.#drawing += 1;
    this.sorter.disabled = false;
    this.sorter.value = this.sort;
    for (const id of [...views.keys()]) this.refresh(id, false);
    arrange(this.list, this.#known(thread.roots));
    for (const [id, view] of views) arrange(view.list, this.#known(/** @type {any} */ (thread.comments.get(id)).replies));
    this.notice.hidden = !this.isClosed;
    if (this.isClosed) this.notice.replaceChildren(words.say("closed"));
    this.place.hidden = this.isClosed;
    this.summary();
    if (!(await this.draw(thread.roots))) return;
    this.list.removeAttribute("aria-busy");
    this.showFoot();
  }

  /** What is on the screen already. @param {string[]} ids */
  #known(ids) {
    return ids.flatMap((id) => this.views.get(id)?.element ?? []);
  }

  /** Draw comments and all below them: a screenful at once, and what the reader does comes between two slices of the rest. Says whether nothing newer began meanwhile. @param {string[]} ids */
  async draw(ids) {
    const { thread, views } = this;
    const drawing = this.#drawing;
    let began = performance.now();
    let count = 0;
    for (const id of thread.tree(ids)) {
      if (++count > SCREENFUL && performance.now() - began > SLICE_MS) {
        await pause(0);
        if (drawing !== this.#drawing) return false;
        began = performance.now();
      }
      const comment = thread.comments.get(id);
      if (!comment) continue;
      views.get(id)?.update(comment);
      const { element } = this.viewOf(id);
      if (element.isConnected) continue;
      const siblings = thread.siblings(comment) ?? [];
      const before = views.get(siblings[siblings.indexOf(id) - 1])?.element;
      before ? before.after(element) : (comment.parent ? views.get(comment.parent)?.list : this.list)?.prepend(element);
    }
    return true;
  }

  get isClosed() {
    return Boolean(this.thread.locked || this.site?.posting_disabled);
  }

  /** How many comments there are, in words. */
  summary() {
    const { comments, echoes, total } = this.thread;
    const n = total + Math.max(0, [...comments.values()].filter((one) => one.sending).length - echoes.size);
    this.count.textContent = n ? this.words.say("comments", { n }) : this.words.say("comments_title");
    const isEmpty = this.thread.roots.length === 0;
    if (isEmpty && !this.list.querySelector(".empty")) this.list.replaceChildren(h("li", { class: "empty muted" }, this.words.say("empty")));
    else if (!isEmpty) this.list.querySelector(".empty")?.remove();
  }

  showFoot() {
    const more = button(this.words.say("load_more"), () => this.do("readOn", more), { class: "wide" });
    this.foot.replaceChildren(...(this.thread.next ? [more] : []));
  }

  /** @param {string} id @returns {CommentView} */
  viewOf(id) {
    let view = this.views.get(id);
    if (!view) {
      view = new CommentView(this, /** @type {any} */ (this.thread.comments.get(id)));
      this.views.set(id, view);
    }
    return view;
  }

  /** Draw a comment again, or take it from the screen. @param {string} id @param {boolean} [isNew] whether it may look different */
  refresh(id, isNew = true) {
    const comment = this.thread.comments.get(id);
    const view = this.views.get(id);
    if (!view || (comment && !isNew)) return;
    if (comment) return view.update(comment);
    this.views.delete(id);
    // What somebody writes there is never lost.
    for (const composer of [this.replying, view.editing]) if (composer && view.element.contains(composer.element)) composer.move();
    view.element.remove();
  }

  /** Put a comment that the thread has just got on the screen. @param {string} id */
  show(id) {
    const comment = this.thread.comments.get(id);
    if (!comment) return;
    const view = this.viewOf(id);
    const parent = comment.parent ? this.views.get(comment.parent) : null;
    if (parent) {
      parent.list.append(view.element);
      parent.update(/** @type {any} */ (this.thread.comments.get(parent.id)));
    } else if (!comment.parent) {
      this.list.querySelector(".empty")?.remove();
      this.list.prepend(view.element);
    }
    this.summary();
  }

  isPageAuthor(/** @type {any} */ comment) {
    const author = this.getAttribute("author");
    return Boolean(author) && (comment.author === author || comment.name === author);
  }

  get isStaff() {
    return Boolean(this.api.user && this.site?.staff?.[this.api.user.id]);
  }

  // --- Permalinks ----------------------------------------------------------------------------------------------------

  hashed = () => this.#permalink(true);

  async #permalink(mayLoad = false) {
    const id = kit.permalink();
    if (!id) return;
    if (!this.thread.comments.has(id) && mayLoad) return void (await this.reload());
    this.goTo(id);
  }

  /** @param {string} id */
  goTo(id) {
    this.do("goTo", id);
  }

  follow(/** @type {Event} */ event, /** @type {string} */ id) {
    event.preventDefault();
    history.replaceState(history.state, "", `#comment-${id}`);
    this.goTo(id);
  }

  // --- Doing ---------------------------------------------------------------------------------------------------------

  /** What doing.js has under this name. @param {string} what @param {...any} about */
  async do(what, ...about) {
    const { thread } = this;
    // Whoever clicks and leaves at once has clicked: nothing is waited for that is here.
    this.#doing ??= await this.#with(import("./doing.js"));
    if (thread === this.thread) return this.#doing[what](this, ...about);
  }

  /** Somebody who is signed in, or null when they would rather not; however many ask, they are asked once. @param {string} [why] */
  async person(why) {
    if (this.api.session) return this.api.user;
    this.#asked ??= this.#with(import("./auth.js")).then(({ signIn }) => signIn(this, why));
    return this.#asked.finally(() => (this.#asked = undefined));
  }

  /** Signed in or out, here or in another tab. */
  #session() {
    this.#who();
    this.tell(this.api.session ? "signin" : "signout", { user: this.api.user });
    this.live?.signedIn();
    this.thread.mine = {};
    this.thread.pending.clear();
    // Whoever signs in goes on reading where they are; what somebody alone could see goes with them.
    if (this.#isBuilt) this.reload({ quietly: true, keepsReplies: Boolean(this.api.session) });
  }

  #who() {
    const user = this.api.user;
    this.account.replaceChildren(user ? this.words.name(user.name) : this.words.say("sign_in"));
    this.bell.hidden = !user;
    if (user) this.do("countNotices");
  }

  unread(/** @type {number} */ count) {
    this.do("unread", count);
  }

  // --- Saying --------------------------------------------------------------------------------------------------------

  /** Politely, for those who listen; `isShown` also for those who look. @param {string} text */
  announce(text, isShown = false) {
    this.status.textContent = "";
    this.status.textContent = text;
    if (isShown) this.toast(text);
  }

  /** For those who look. @param {string} text @param {{label: string, then: () => void}} [action] */
  toast(text, action) {
    return this.do("toast", text, action);
  }

  /** Any error as a sentence that a person understands. @param {any} error */
  sentence(error) {
    const { words } = this;
    if (error instanceof Unreachable) return words.say("offline");
    if (!(error instanceof Refused)) return words.say("failed");
    if (error.code && words.has(`error_${error.code}`)) return words.say(`error_${error.code}`, { seconds: error.retryAfter, ...error.problem });
    if (error.status === 429 && error.retryAfter > 90) return words.say("error_later", { when: words.within(error.retryAfter) });
    if (error.status === 429) return words.say("error_429", { seconds: error.retryAfter ?? 60 });
    if (error.status === 503) return words.say("error_503");
    return error.message || words.say("failed");
  }

  complain(/** @type {any} */ error) {
    this.tell("error", { code: error.code ?? "", message: error.message });
    this.announce(this.sentence(error), true);
  }

  /** What is on the screen stays there. */
  #failed(/** @type {any} */ error) {
    const isShown = Boolean(this.thread.pageId);
    const again = button(this.words.say("try_again"), () => (isShown || this.#skeleton(), this.reload({ isHere: isShown })), { class: "wide" });
    this.list.removeAttribute("aria-busy");
    (isShown ? this.foot : this.list).replaceChildren(h(isShown ? "div" : "li", { class: "empty error" }, h("p", { role: "alert" }, this.sentence(error)), again));
    this.tell("error", { code: error.code ?? "", message: error.message });
    return false;
  }

  tell(/** @type {string} */ name, /** @type {any} */ detail) {
    this.dispatchEvent(new CustomEvent(`threadkit:${name}`, { detail, bubbles: true, composed: true }));
  }

  // --- What comes later -------------------------------------------------------------------------------------

  /** What nobody misses in the first moment. */
  async #later() {
    const round = this.#round;
    const idle = globalThis.requestIdleCallback ?? ((/** @type {any} */ then) => setTimeout(then, 200));
    await new Promise((then) => idle(then, { timeout: 2000 }));
    const [{ Live }, { pressed }] = await this.#with(Promise.all([import("./live.js"), import("./keys.js"), import("./doing.js")]));
    if (round !== this.#round) return;
    this.root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => pressed(this, event));
    this.live = new Live(this);
    this.compose();
  }
}

function pause(/** @type {number} */ ms) {
  return new Promise((then) => setTimeout(then, ms));
}

function sheetOf(/** @type {string} */ style) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  return sheet;
}

if (!customElements.get("thread-kit")) customElements.define("thread-kit", ThreadKitElement);
