// What the owners' views are made of.

import { button, h } from "../ui.js";

/** The top of a view. @param {import("../shell.js").App} app @param {string} id @param {any[]} actions */
export function head(app, id, ...actions) {
  const intro = `${id}_intro`;
  return h(
    "div",
    { class: "head" },
    h("div", null, h("h1", null, app.words.say(`view_${id}`)), app.words.has(intro) ? h("p", { class: "muted" }, app.words.say(intro)) : null),
    actions.length ? h("div", { class: "row" }, actions) : null,
  );
}

/** @param {string} title @param {any[]} content */
export function card(title, ...content) {
  return h("section", { class: "card", "aria-label": title }, h("h2", null, title), content);
}

/** How something is, in a word; the colour only repeats it. @param {"ok" | "warning" | "bad" | "unknown"} state @param {string} text */
export function pill(state, text) {
  return h("span", { class: `pill ${state}` }, text);
}

/** Names and what they are. @param {[string, any][]} pairs */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** On a narrow screen every row becomes a small card, so each cell carries the name of its column. @param {string} caption @param {string[]} columns @param {any[][]} rows */
export function table(caption, columns, rows) {
  const isNumber = columns.map((_, place) => rows.length > 0 && rows.every((row) => typeof row[place] === "number" || /^[\d.,\s]+( ?[kMGT]?i?B| ms| %)?$/.test(row[place])));
  return h(
    "div",
    { class: "table", tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table",
      null,
      h("caption", { class: "sr" }, caption),
      h("thead", null, h("tr", null, columns.map((name, place) => h("th", { scope: "col", class: isNumber[place] && "number" }, name)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, place) => h("td", { "data-column": columns[place], class: isNumber[place] && "number" }, cell))))),
    ),
  );
}

/** A button that is deaf while it works, and says what went wrong. It is not disabled: a dialog gives the focus back to it. @param {import("../shell.js").App} app @param {string} text @param {() => Promise<any>} then @param {Record<string, any>} [props] */
export function doing(app, text, then, props) {
  const made = button(
    text,
    async () => {
      if (made.hasAttribute("aria-busy")) return;
      made.setAttribute("aria-busy", "true");
      try {
        await then();
      } catch (error) {
        app.toast(app.sentence(error));
      }
      made.removeAttribute("aria-busy");
    },
    props,
  );
  return made;
}

/** A line about what is going on or came of it, heard as well as seen. */
export function outcome() {
  const line = h("p", { class: "outcome", role: "status" });
  return {
    line,
    /** @param {"ok" | "bad" | "warning" | ""} state @param {any[]} content */
    say(state, ...content) {
      line.className = `outcome ${state}`;
      line.replaceChildren(...content);
    },
  };
}

/** @param {string} iso */
export function seconds(iso) {
  return Date.parse(iso) / 1000;
}

/** @param {import("../shell.js").App} app @param {number} n */
export function count(app, n) {
  return new Intl.NumberFormat(app.words.lang).format(n);
}

/** @param {import("../shell.js").App} app @param {number} n */
export function bytes(app, n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (n >= 1000 && place < units.length - 1) {
    n /= 1000;
    place += 1;
  }
  return `${new Intl.NumberFormat(app.words.lang, { maximumFractionDigits: n < 10 && place ? 1 : 0 }).format(n)} ${units[place]}`;
}

/** A length of time in its largest unit. @param {import("../shell.js").App} app @param {number} s */
export function span(app, s) {
  const [unit, length] = s >= 172_800 ? ["day", 86_400] : s >= 7200 ? ["hour", 3600] : s >= 120 ? ["minute", 60] : ["second", 1];
  return new Intl.NumberFormat(app.words.lang, { style: "unit", unit: String(unit), unitDisplay: "long", maximumFractionDigits: 0 }).format(s / Number(length));
}

/** The one line that puts comments on a page. @param {any} site @param {Record<string, string>} [more] */
export function snippet(site, more = {}) {
  const options = Object.entries(more).map(([name, value]) => ` data-${name}="${value}"`);
  return `<script async src="${location.origin}/embed.js" data-project="${site.api_key_public}"${options.join("")}></script>`;
}
