// How the thread looks on a site's pages: the real embed beside its colours, and the lines that make it so.

import { button, copyable, field, h } from "../ui.js";
import { contrast } from "./colour.js";
import { card, head, snippet } from "./parts.js";

/** What can be coloured, as the embed has it by itself: light, dark. @type {[string, string, string][]} */
const COLOURS = [
  ["accent", "#1f55c4", "#93b6ff"],
  ["on-accent", "#ffffff", "#0c1730"],
  ["text", "#1b1f27", "#e7e9ee"],
  ["muted", "#5a6271", "#a5adbb"],
  ["line", "#dde1e8", "#383e49"],
  ["surface", "#ffffff", "#1b1e25"],
  ["soft", "#f2f4f8", "#262b35"],
  ["danger", "#b3261e", "#ff9d95"],
];
/** What must be readable on what. */
const PAIRS = [
  ["text", "surface"],
  ["muted", "surface"],
  ["accent", "surface"],
  ["danger", "surface"],
  ["on-accent", "accent"],
];
const READABLE = 4.5;
const FONTS = ["", "16px/1.55 Georgia, serif", "17px/1.6 system-ui, sans-serif", "15px/1.5 ui-monospace, monospace"];
const THEMES = ["auto", "light", "dark"];
const LANGUAGES = ["", "en", "de", "fr", "es", "pt", "it", "ja", "zh", "ar", "ru"];

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const newest = await app.api.get("/v1/admin/sites/{site}/comments?limit=1");
  const page = newest.comments[0]?.page_url || `https://${app.site.domain}/`;
  new Look(app, place, page).show();
}

class Look {
  /** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string} page whose thread is shown */
  constructor(app, place, page) {
    this.app = app;
    this.place = place;
    this.page = page;
    this.slot = `threadkit:look:${app.site.id}`;
    this.chosen = this.#remembered();
    this.frame = h("iframe", { class: "preview", title: app.words.say("look_preview") });
    this.code = h("div", { class: "stack" });
    this.warnings = h("div", { class: "stack", role: "status" });
    this.side = h("div", { class: "stack" });
  }

  /** @returns {any} */
  #remembered() {
    const nothing = { theme: "auto", lang: "", font: "", radius: "10", gap: "16", colours: {} };
    try {
      return { ...nothing, ...JSON.parse(localStorage.getItem(this.slot) ?? "{}") };
    } catch {
      return nothing;
    }
  }

  show() {
    const { words } = this.app;
    this.frame.addEventListener("load", () => this.#paint());
    this.#drawSide();
    this.place.append(
      head(this.app, "look", button(words.say("look_reset"), () => this.#reset())),
      h("div", { class: "look" }, this.side, h("section", { class: "card", "aria-label": words.say("look_preview") }, h("h2", null, words.say("look_preview")), h("p", { class: "muted" }, words.say("look_real", { page: this.page })), this.frame)),
      card(words.say("look_code"), h("p", { class: "muted" }, words.say("look_code_text")), this.code),
    );
    this.#load();
    this.#changed();
  }

  #reset() {
    try {
      localStorage.removeItem(this.slot);
    } catch {
      // Then it is forgotten with the page.
    }
    this.chosen = { theme: "auto", lang: "", font: "", radius: "10", gap: "16", colours: {} };
    this.#drawSide();
    this.#load();
    this.#changed();
  }

  #drawSide() {
    const { words } = this.app;
    const select = (/** @type {string} */ name, /** @type {string[]} */ choices, /** @type {(one: string) => string} */ called, /** @type {boolean} */ loads) => {
      const made = h("select", { name }, choices.map((one) => h("option", { value: one, selected: this.chosen[name] === one }, called(one))));
      made.addEventListener("change", () => {
        this.chosen[name] = made.value;
        if (loads) this.#load();
        this.#changed();
      });
      return made;
    };
    const slide = (/** @type {string} */ name, /** @type {number} */ most) => {
      const made = h("input", { type: "range", name, min: "0", max: String(most), value: this.chosen[name] });
      made.addEventListener("input", () => ((this.chosen[name] = made.value), this.#changed()));
      return made;
    };
    const language = (/** @type {string} */ one) => (one ? (new Intl.DisplayNames([one], { type: "language" }).of(one) ?? one) : words.say("look_lang_page"));
    this.side.replaceChildren(
      card(
        words.say("look_basics"),
        field(words.say("look_theme"), select("theme", THEMES, (one) => words.say(`look_theme_${one}`), true)),
        field(words.say("look_lang"), select("lang", LANGUAGES, language, true)),
        field(words.say("look_font"), select("font", FONTS, (one) => one || words.say("look_font_own"), false)),
        field(words.say("look_radius"), slide("radius", 24)),
        field(words.say("look_gap"), slide("gap", 32)),
      ),
      card(words.say("look_colours"), h("div", { class: "swatches" }, h("span", null), h("span", { class: "muted" }, words.say("look_theme_light")), h("span", { class: "muted" }, words.say("look_theme_dark")), COLOURS.map(([name]) => this.#swatches(name))), this.warnings),
    );
  }

  /** @param {string} name */
  #swatches(name) {
    const { words } = this.app;
    const own = this.#colour(name);
    const boxes = ["light", "dark"].map((theme, at) => {
      const box = h("input", { type: "color", value: own[at], "aria-label": words.say("look_colour_in", { what: words.say(`colour_${name}`), theme: words.say(`look_theme_${theme}`) }) });
      box.addEventListener("input", () => {
        const now = [...this.#colour(name)];
        now[at] = box.value;
        this.chosen.colours[name] = now;
        this.#changed();
      });
      return box;
    });
    return [h("span", null, words.say(`colour_${name}`)), ...boxes];
  }

  /** @param {string} name @returns {[string, string]} light, dark */
  #colour(name) {
    const usual = COLOURS.find(([one]) => one === name);
    return this.chosen.colours[name] ?? [usual?.[1], usual?.[2]];
  }

  #load() {
    const query = new URLSearchParams({ project: this.app.site.api_key_public, url: this.page, theme: this.chosen.theme, lang: this.chosen.lang || this.app.words.lang });
    this.frame.src = `/embed/frame?${query}`;
  }

  #changed() {
    try {
      localStorage.setItem(this.slot, JSON.stringify(this.chosen));
    } catch {
      // It lasts as long as the page.
    }
    this.#paint();
    this.#warn();
    const { words, site } = this.app;
    const more = { ...(this.chosen.theme !== "auto" && { theme: this.chosen.theme }), ...(this.chosen.lang && { lang: this.chosen.lang }) };
    const rules = this.#rules();
    this.code.replaceChildren(
      copyable(this.app, snippet(site, more), words.say("snippet_title")),
      ...(rules.length ? [copyable(this.app, `thread-kit {\n${rules.map(([name, value]) => `  ${name}: ${value};`).join("\n")}\n}`, words.say("look_css"))] : [h("p", { class: "muted" }, words.say("look_no_css"))]),
    );
  }

  /** Only what differs from the embed's own. @returns {[string, string][]} */
  #rules() {
    /** @type {[string, string][]} */
    const rules = [];
    for (const [name, light, dark] of COLOURS) {
      const own = this.#colour(name);
      if (own[0] !== light || own[1] !== dark) rules.push([`--tk-${name}`, `light-dark(${own[0]}, ${own[1]})`]);
    }
    if (this.chosen.font) rules.push(["--tk-font", this.chosen.font]);
    if (this.chosen.radius !== "10") rules.push(["--tk-radius", `${this.chosen.radius}px`]);
    if (this.chosen.gap !== "16") rules.push(["--tk-gap", `${this.chosen.gap}px`]);
    return rules;
  }

  /** The frame is of our own origin, so its element can be dressed as a page would dress it. */
  #paint() {
    const page = this.frame.contentDocument;
    const thread = page?.querySelector("thread-kit");
    if (!thread) return;
    page.documentElement.style.colorScheme = this.chosen.theme === "auto" ? "light dark" : this.chosen.theme;
    const rules = new Map(this.#rules());
    for (const name of [...COLOURS.map(([one]) => `--tk-${one}`), "--tk-font", "--tk-radius", "--tk-gap"]) {
      const value = rules.get(name);
      if (value) thread.style.setProperty(name, value);
      else thread.style.removeProperty(name);
    }
  }

  #warn() {
    const { words } = this.app;
    const found = [];
    for (const [on, under] of PAIRS) {
      for (const [at, theme] of ["light", "dark"].entries()) {
        const ratio = contrast(this.#colour(on)[at], this.#colour(under)[at]);
        if (ratio < READABLE) found.push(h("p", { class: "warn" }, words.say("look_contrast", { what: words.say(`colour_${on}`), under: words.say(`colour_${under}`), theme: words.say(`look_theme_${theme}`), ratio: ratio.toFixed(1) })));
      }
    }
    this.warnings.replaceChildren(...found);
  }
}
