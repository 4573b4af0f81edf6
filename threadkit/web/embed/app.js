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
const BELL = "M12 3a6 6 0 00-6 6v4l-2 3h16l-2-3V9a6 6 0 00-6-6zm-2 15a2 2 0 004 0z";
const kit = /** @type {any} */ (globalThis).ThreadKit;

export class ThreadKitElement extends HTMLElement {
  static observedAttributes = ["project", "page-id", "url", "sort", "theme", "lang", "mode"];

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
  /** @type {Promise<any>} when all that is known is on the screen */
  drawn = Promise.resolve();
  /** @type {Promise<void> | undefined} */
  #dressed;

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
    this.#dressed = undefined;
    this.#build();
    this.#isBuilt = true;
    const token = this.getAttribute("sso");
    if (token && !this.api.session) await this.do("welcome", token);
    await this.reload();
    if (round !== this.#round) return;
    addEventListener("hashchange", this.hashed);
    clearInterval(this.ticking);
    this.ticking = setInterval(() => this.#tick(), TICK_MS);
    this.tell("ready", { total: this.thread.total });
    this.#later();
  }

  /** @param {string} name @param {"text" | "json"} kind */
  async #asset(name, kind) {
    const url = kit.address(name);
    if (!kit.early.has(url)) kit.early.set(url, fetch(url));
    try {
      return (await kit.early.get(url)).clone()[kind]();
    } catch (error) {
      kit.early.delete(url); // not there for ever
      throw error;
    }
  }

  /** The looks of all that opens later. */
  #dress() {
    return (this.#dressed ??= this.#asset("later.css", "text").then((style) => {
      this.shadowRoot?.adoptedStyleSheets.push(sheetOf(style));
    }));
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
    this.thread = new Thread();
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

  get question() {
    return { pageId: this.getAttribute("page-id"), url: this.getAttribute("url"), sort: this.getAttribute("sort") };
  }

  get sort() {
    return this.getAttribute("sort") ?? this.site?.display?.default_sort ?? "top";
  }

  /** How this page is named in every call about it. */
  get page() {
    const { pageId, url } = this.question;
    return { page_url: url || kit.canonical(), ...(pageId ? { page_id: pageId } : {}) };
  }

  get pageQuery() {
    return new URLSearchParams(this.page).toString();
  }

  /** Load the thread anew: `isHere` when somebody is reading it already, `quietly` when they did not ask for it. @param {{quietly?: boolean, isHere?: boolean, keepsReplies?: boolean}} [how] */
  async reload(how) {
    const round = this.#round;
    const isHere = how?.isHere || how?.quietly;
    const limit = how?.quietly ? Math.min(WIDEST_WINDOW, Math.max(WINDOW, this.thread.roots.length)) : WINDOW;
    const path = kit.question({ ...this.question, limit, around: isHere ? "" : undefined });
    const asked = performance.now();
    if (!how?.quietly) this.list.setAttribute("aria-busy", "true");
    try {
      let age = null;
      const heed = (/** @type {any} */ headers) => (age = headers.get("warning") && headers.get("age"));
      const [answer] = await Promise.all([this.api.get(path, { heed }), this.#settings()]);
      if (round !== this.#round) return;
      if (age || this.copy) this.do("asOf", age);
      this.thread.take(answer, { ...how, asked });
      this.drawn = this.#showAll();
      if (this.api.session) this.#votes();
      if (!isHere) this.#permalink();
    } catch (/** @type {any} */ error) {
      if (round !== this.#round || (how?.quietly && this.thread.pageId)) return;
      if (isHere || error.code !== "comment_not_found") return this.#failed(error);
      await this.reload({ isHere: true });
      this.#permalink();
    }
  }

  async #settings() {
    this.site ??= await this.api.get("/v1/site");
  }

  async #showAll() {
    const { thread, words, views } = this;
    this.#drawing += 1;
    this.sorter.disabled = false;
    this.sorter.value = this.sort;
    for (const [id, view] of views) if (!thread.comments.has(id)) view.element.remove(), views.delete(id);
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
        await new Promise((then) => setTimeout(then));
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
    this.count.textContent = this.thread.total ? this.words.say("comments", { n: this.thread.total }) : this.words.say("comments_title");
    const isEmpty = this.thread.roots.length === 0;
    if (isEmpty && !this.list.querySelector(".empty")) this.list.replaceChildren(h("li", { class: "empty muted" }, this.words.say("empty")));
    else if (!isEmpty) this.list.querySelector(".empty")?.remove();
  }

  showFoot() {
    const more = button(this.words.say("load_more"), () => this.do("readOn", more), { class: "wide" });
    this.foot.replaceChildren(...(this.thread.next ? [more] : []));
  }

  async #votes() {
    const asked = performance.now();
    try {
      const { votes } = await this.api.get(`/v1/pages/my_votes?${this.pageQuery}`);
      for (const [id, vote] of Object.entries(votes)) {
        const comment = this.thread.comments.get(id);
        if (!comment || this.thread.isOlder(id, asked)) continue;
        comment.vote = /** @type {any} */ (vote);
        this.views.get(id)?.update(comment);
      }
    } catch {
      // Votes are shown without one's own then.
    }
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

  /** Draw a comment again. @param {string} id */
  refresh(id) {
    const comment = this.thread.comments.get(id);
    const view = this.views.get(id);
    if (comment && view) view.update(comment);
    else if (view) {
      view.element.remove();
      this.views.delete(id);
    }
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
    const view = this.views.get(id);
    if (!view && this.thread.comments.has(id)) return void this.drawn.then(() => this.views.has(id) && this.goTo(id));
    if (!view) return void (kit.permalink() === id && this.announce(this.words.say("comment_gone"), true));
    for (const above of this.thread.path(id).slice(0, -1)) if (this.views.get(above)?.isCollapsed) this.views.get(above)?.collapse(false);
    this.list.querySelectorAll(".highlight").forEach((one) => one.classList.remove("highlight"));
    view.article.classList.add("highlight");
    view.article.focus({ preventScroll: true });
    // What is far away has no layout until it has the focus, and on a slow way there heights that were guessed would change.
    requestAnimationFrame(() => {
      const isFar = Math.abs(view.article.getBoundingClientRect().top) > 3 * innerHeight;
      view.article.scrollIntoView({ block: "center", behavior: isFar || matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    });
  }

  follow(/** @type {Event} */ event, /** @type {string} */ id) {
    event.preventDefault();
    history.replaceState(history.state, "", `#comment-${id}`);
    this.goTo(id);
  }

  // --- Doing ---------------------------------------------------------------------------------------------------------

  /** What doing.js has under this name. @param {string} what @param {...any} about */
  async do(what, ...about) {
    const doing = /** @type {any} */ (await this.#with(import("./doing.js")));
    return doing[what](this, ...about);
  }

  /** Somebody who is signed in, or null when they would rather not. @param {string} [why] */
  async person(why) {
    if (this.api.session) return this.api.user;
    const { signIn } = await this.#with(import("./auth.js"));
    return signIn(this, why);
  }

  /** Signed in or out, here or in another tab. */
  #session() {
    this.#who();
    this.tell(this.api.session ? "signin" : "signout", { user: this.api.user });
    this.live?.signedIn();
    // Whoever signs in goes on reading where they are; what somebody alone could see goes with them.
    if (this.#isBuilt) this.reload({ quietly: true, keepsReplies: Boolean(this.api.session) });
  }

  #who() {
    const user = this.api.user;
    this.account.replaceChildren(user ? this.words.name(user.name) : this.words.say("sign_in"));
    this.bell.hidden = !user;
    if (user)
      this.api.get("/v1/users/me").then(
        (me) => this.unread(me.unread_notifications),
        () => {},
      );
  }

  unread(/** @type {number} */ count) {
    const badge = /** @type {HTMLElement} */ (this.bell.querySelector(".unread"));
    badge.hidden = !count;
    badge.textContent = count ? this.words.numbers.format(count) : "";
    this.bell.setAttribute("aria-label", count ? this.words.say("unread", { n: count }) : this.words.say("notifications"));
    this.unreadCount = count;
  }

  // --- Saying --------------------------------------------------------------------------------------------------------

  /** Politely, for those who listen; `isShown` also for those who look. @param {string} text */
  announce(text, isShown = false) {
    this.status.textContent = "";
    this.status.textContent = text;
    if (isShown) this.toast(text);
  }

  /** For those who look. @param {string} text @param {{label: string, then: () => void}} [action] */
  async toast(text, action) {
    await this.#dress();
    this.layer.querySelector(".toast")?.remove();
    const toast = h("div", { class: "toast", part: "toast" }, text, action && button(action.label, () => (toast.remove(), action.then()), { class: "quiet" }));
    this.layer.append(toast);
    setTimeout(() => toast.remove(), action ? 8000 : 5000);
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

  #failed(/** @type {any} */ error) {
    this.list.removeAttribute("aria-busy");
    this.list.replaceChildren(
      h("li", { class: "empty error" }, h("p", { role: "alert" }, this.sentence(error)), button(this.words.say("try_again"), () => (this.#skeleton(), this.reload()), { class: "wide" })),
    );
    this.tell("error", { code: error.code ?? "", message: error.message });
  }

  tell(/** @type {string} */ name, /** @type {any} */ detail) {
    this.dispatchEvent(new CustomEvent(`threadkit:${name}`, { detail, bubbles: true, composed: true }));
  }

  #tick() {
    for (const [id, view] of this.views) {
      const comment = this.thread.comments.get(id);
      const time = view.head.querySelector("time");
      if (comment && time) time.textContent = this.words.ago(comment.created);
    }
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

function sheetOf(/** @type {string} */ style) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  return sheet;
}

if (!customElements.get("thread-kit")) customElements.define("thread-kit", ThreadKitElement);
