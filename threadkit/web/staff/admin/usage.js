// How much a site is used, day by day, for as long as it is kept.

import { empty, h } from "../ui.js";
import { chart } from "./chart.js";
import { card, count, head, table } from "./parts.js";

export const NAMES = ["comments", "pageviews", "visitors", "api_requests", "websocket_connections"];
const SPANS = [7, 30, 90];

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  const { words } = app;
  const n = SPANS.includes(Number(rest[0])) ? Number(rest[0]) : 90;
  const { days, months } = await app.api.get("/v1/admin/sites/{site}/usage?days=90&months=4");
  const shown = days.slice(0, n).reverse();
  const choice = h(
    "div",
    { class: "row", role: "group", "aria-label": words.say("usage_span") },
    SPANS.map((one) => h("a", { class: "button", href: `#/usage/${one}`, "aria-current": one === n && "true" }, words.say("usage_days", { n: one }))),
  );
  const isQuiet = NAMES.every((name) => days.every((/** @type {any} */ day) => !day[name]));
  place.append(
    head(app, "usage", choice),
    isQuiet ? empty(words.say("usage_empty"), words.say("usage_empty_text")) : h("div", { class: "charts" }, NAMES.map((name) => chart(app, words.say(`usage_${name}`), shown.map((/** @type {any} */ day) => ({ date: day.date, value: day[name] })), words.say(`usage_${name}_text`)))),
    card(
      words.say("usage_months"),
      table(
        words.say("usage_months"),
        [words.say("usage_month"), ...NAMES.map((name) => words.say(`usage_${name}`))],
        months.map((/** @type {any} */ month) => [monthName(app, month.month), ...NAMES.map((name) => count(app, month[name]))]),
      ),
    ),
  );
}

/** @param {import("../shell.js").App} app @param {string} month such as 2026-11 */
function monthName(app, month) {
  return new Intl.DateTimeFormat(app.words.lang, { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(`${month}-01T00:00:00Z`));
}
