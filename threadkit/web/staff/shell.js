// What every page for staff has: who sits here, for which site, where one can go, and how things are said.

import { Words } from "../embed/words.js";
import { Refused, StaffApi, Unreachable } from "./api.js";
import { confirmed, signIn } from "./signin.js";
import { ask, button, dialog, h } from "./ui.js";

const RANK = /** @type {Record<string, number>} */ ({ moderator: 1, admin: 2, owner: 3 });
const TOAST_MS = 6000;
const MANY_VIEWS = 8;

/**
 * @typedef {object} View
 * @property {string} id stands in the address behind `#/`, and its name in the words is `view_{id}`
 * @property {"moderator" | "admin" | "owner" | "operator"} least who may see it
 * @property {"moderator" | "admin"} [most] who may do more does not need it
 * @property {string} [group] the heading it stands under, `group_{group}` in the words
 * @property {() => Promise<{show: (app: App, place: HTMLElement, rest: string[]) => any}>} load
 *   `show` fills the place; what it returns is called when the view is left
 */

export class App {
  /** @param {Words} words @param {View[]} views */
  constructor(words, views) {
    this.words = words;
    this.views = views;
    this.api = new StaffApi(words.lang);
    /** @type {any} who is signed in, as `/v1/staff/session` says it */
    this.me = null;
    this.place = h("main", { id: "main", tabindex: "-1" });
    this.status = h("p", { class: "sr", role: "status" });
    this.toasts = h("div", { class: "toasts", role: "status" });
    this.nav = h("nav", { "aria-label": words.say("navigation") });
    /** @type {Map<string, HTMLElement>} */
    this.badges = new Map();
    /** @type {any} */
    this.menu = null;
    /** @type {any} */
    this.leave = null;
    /** @type {(() => boolean) | null} whether something would be lost by leaving the view that is shown */
    this.unsaved = null;
    this.here = location.hash;
    this.turn = 0;
    this.api.addEventListener("signed-out", () => this.#signedOut());
  }

  get site() {
    return this.api.site;
  }

  /** @param {string} least */
  may(least) {
    return least === "operator" ? this.me.is_operator : RANK[this.site.role] >= RANK[least];
  }

  #sees() {
    return this.views.filter((view) => this.may(view.least) && !(view.most && RANK[this.site.role] > RANK[view.most]));
  }

  async start() {
    document.documentElement.lang = this.words.lang;
    document.documentElement.dir = this.words.dir;
    document.body.replaceChildren(this.place, this.status, this.toasts);
    addEventListener("hashchange", () => this.#turned());
    addEventListener("beforeunload", (event) => this.unsaved?.() && event.preventDefault());
    await this.#enter();
  }

  async #enter() {
    try {
      this.me = await this.api.session();
    } catch (error) {
      this.place.replaceChildren(h("div", { class: "door" }, h("p", { class: "error", role: "alert" }, this.sentence(error)), button(this.words.say("try_again"), () => this.#enter())));
      return;
    }
    if (!this.me || this.me.second_step_needed) {
      document.body.querySelector("header.top")?.remove();
      this.me = await signIn(this, this.place, this.me);
    }
    if (!this.me.sites.length) {
      this.place.replaceChildren(h("div", { class: "door" }, h("h1", null, this.words.say("no_sites_title")), h("p", null, this.words.say("no_sites")), button(this.words.say("sign_out"), () => this.signOut())));
      return;
    }
    this.#choose(this.#remembered());
  }

  #remembered() {
    let id = null;
    try {
      id = localStorage.getItem("threadkit:staff-site");
    } catch {
      // Then the first site it is.
    }
    return this.me.sites.find((/** @type {any} */ site) => site.id === id) ?? this.me.sites[0];
  }

  /** Another site, or the same with other facts. @param {any} site */
  async choose(site) {
    if (await this.#mayLeave()) this.#choose(site);
    else this.#frame();
  }

  /** Look again who sits here and for which sites; `id` is the one to go on with. @param {string} [id] */
  async renew(id = this.site.id) {
    const me = await this.api.session();
    const site = me?.sites.find((/** @type {any} */ one) => one.id === id) ?? me?.sites[0];
    if (!site) return this.#signedOut();
    this.me = me;
    this.#choose(site);
  }

  /** @param {any} site */
  #choose(site) {
    this.api.site = site;
    try {
      localStorage.setItem("threadkit:staff-site", site.id);
    } catch {
      // It is asked for again next time.
    }
    this.#frame();
    this.#go();
  }

  #frame() {
    const { words } = this;
    document.body.querySelector("header.top")?.remove();
    const groups = new Map();
    this.badges.clear();
    for (const view of this.#sees()) {
      const badge = h("span", { class: "badge", hidden: true });
      this.badges.set(view.id, badge);
      const link = h("a", { href: `#/${view.id}`, "data-view": view.id }, h("span", null, words.say(`view_${view.id}`)), badge);
      groups.set(view.group ?? "", [...(groups.get(view.group ?? "") ?? []), h("li", null, link)]);
    }
    this.nav.replaceChildren(...[...groups].map(([group, links]) => h("div", { class: "group" }, group ? h("h2", null, words.say(`group_${group}`)) : null, h("ul", null, links))));
    const sites = h(
      "select",
      { "aria-label": words.say("site"), class: "site", onchange: () => this.choose(this.me.sites[sites.selectedIndex]) },
      this.me.sites.map((/** @type {any} */ site) => h("option", { selected: site.id === this.site.id }, site.name)),
    );
    // On a small screen a long list opens by a button; a short one stays in sight.
    this.menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", hidden: this.badges.size <= MANY_VIEWS, onclick: () => this.#openMenu(this.menu.getAttribute("aria-expanded") === "false") });
    document.body.prepend(
      h(
        "header",
        { class: "top" },
        h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ event) => (event.preventDefault(), this.place.focus()) }, words.say("skip")),
        h("strong", { class: "brand" }, "ThreadKit"),
        this.me.sites.length > 1 ? sites : h("span", { class: "site" }, this.site.name),
        h(
          "div",
          { class: "who" },
          this.#elsewhere(),
          h("span", { class: "name" }, words.name(this.me.user.name)),
          button(words.say("sign_out"), () => this.signOut(), { class: "quiet" }),
        ),
        this.menu,
        this.nav,
      ),
    );
  }

  /** @param {boolean} isOpen */
  #openMenu(isOpen) {
    this.menu.setAttribute("aria-expanded", String(isOpen));
  }

  /** Whether what is shown may be left: asks when something would be lost. */
  async #mayLeave() {
    const { words } = this;
    return !this.unsaved?.() || ask(this, { title: words.say("unsaved_title"), text: words.say("unsaved_text"), action: words.say("unsaved_leave") });
  }

  async #turned() {
    if (location.hash === this.here) return;
    if (await this.#mayLeave()) this.#go();
    else history.replaceState(null, "", this.here || "#/");
  }

  /** The way to the other page, for those who have something to do there. */
  #elsewhere() {
    const isMod = document.body.dataset.page === "mod";
    if (isMod && this.me.sites.every((/** @type {any} */ site) => site.role === "moderator")) return null;
    return h("a", { href: isMod ? "/admin" : "/mod" }, this.words.say(isMod ? "go_admin" : "go_mod"));
  }

  /** @param {string} path behind `#/` */
  go(path) {
    if (location.hash === `#/${path}`) this.#go();
    else location.hash = `#/${path}`;
  }

  async #go() {
    if (!this.site) return;
    const [id, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    const seen = this.#sees();
    const view = seen.find((one) => one.id === id) ?? seen[0];
    const turn = ++this.turn;
    const left = this.leave;
    this.leave = this.unsaved = null;
    this.here = location.hash;
    left?.();
    for (const link of this.nav.querySelectorAll("a")) {
      if (link.dataset.view === view.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const name = this.words.say(`view_${view.id}`);
    this.menu.textContent = name;
    this.#openMenu(false);
    document.title = `${name} · ${this.site.name} · ThreadKit`;
    const inside = h("div", { class: `view view-${view.id}` });
    this.place.setAttribute("aria-busy", "true");
    try {
      const { show } = await view.load();
      if (turn !== this.turn) return;
      this.place.replaceChildren(inside);
      const leave = await show(this, inside, rest);
      if (turn === this.turn) this.leave = leave;
      else leave?.();
    } catch (error) {
      if (turn === this.turn) this.place.replaceChildren(h("div", { class: "empty" }, h("p", { class: "error", role: "alert" }, this.sentence(error)), button(this.words.say("try_again"), () => this.#go())));
    }
    if (turn === this.turn) this.place.removeAttribute("aria-busy");
  }

  async signOut() {
    await this.api.staff("DELETE", "session").catch(() => {});
    this.#signedOut();
  }

  #signedOut() {
    this.api.forget();
    this.api.site = null;
    this.turn++;
    this.leave?.();
    this.leave = this.unsaved = null;
    this.#enter();
  }

  /** How much waits in a view. @param {string} id @param {number} n */
  badge(id, n) {
    const badge = this.badges.get(id);
    if (!badge) return;
    badge.hidden = !n;
    badge.textContent = n > 999 ? "999+" : String(n);
  }

  /** Said to whoever listens instead of looking. @param {string} text */
  announce(text) {
    this.status.textContent = text;
  }

  /** A sentence that goes away by itself; `action` is what may still be done about it. @param {string} text @param {{label: string, then: () => void}} [action] @param {number} [ms] */
  toast(text, action, ms = TOAST_MS) {
    const toast = h("div", { class: "toast" }, h("span", null, text));
    const away = () => toast.remove();
    if (action) toast.append(button(action.label, () => (away(), action.then())));
    this.toasts.append(toast);
    while (this.toasts.children.length > 3) this.toasts.firstElementChild?.remove();
    setTimeout(away, ms);
    return away;
  }

  /** An error as a sentence. @param {any} error */
  sentence(error) {
    if (error instanceof Unreachable) return this.words.say("unreachable");
    if (error instanceof Refused) {
      const known = `error_${error.code}`;
      if (this.words.has(known)) return this.words.say(known);
      if (error.status === 429) return this.words.say("too_many");
      return error.message || this.words.say("failed");
    }
    console.error(error);
    return this.words.say("failed");
  }

  /** Run something the server may want proof for. @template T @param {() => Promise<T>} act @returns {Promise<T>} */
  confirmed(act) {
    return confirmed(this, act, (title, content) => dialog(this, title, content));
  }
}

/** The words of this page in the reader's language, and in English where those are missing. @param {string} page */
async function loadWords(page) {
  /** @type {Record<string, string>} */
  const files = JSON.parse(document.body.dataset.words ?? "{}");
  const chosen = navigator.languages.map((tag) => tag.toLowerCase().split("-")[0]).find((lang) => `locales/shell.${lang}.json` in files) ?? "en";
  const read = async (/** @type {string} */ part, /** @type {string} */ lang) => {
    const path = files[`locales/${part}.${lang}.json`];
    return path ? (await fetch(path)).json() : {};
  };
  const languages = chosen === "en" ? ["en"] : ["en", chosen];
  const parts = await Promise.all(languages.flatMap((lang) => ["shell", page].map((part) => read(part, lang))));
  return new Words(Object.assign({}, ...parts), chosen);
}

/** @param {View[]} views */
export async function start(views) {
  await new App(await loadWords(document.body.dataset.page ?? "mod"), views).start();
}
