// A chart of days, drawn here: bars to look at, values by pointer or arrow keys, and a table behind it.

import { h } from "../ui.js";
import { count, table } from "./parts.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 440;
const HEIGHT = 140;
const LEFT = 40;
const BELOW = 20;
const ABOVE = 6;

/** @typedef {{date: string, value: number}} Day */

/** @param {import("../shell.js").App} app @param {string} title @param {Day[]} days oldest first @param {string} explained */
export function chart(app, title, days, explained) {
  const { words } = app;
  const total = days.reduce((sum, day) => sum + day.value, 0);
  const most = niceTop(Math.max(...days.map((day) => day.value), 1));
  const told = h("p", { class: "told muted" }, words.say("chart_hint"));
  const { svg, mark, bars } = draw(app, days, most);
  const plot = h("div", {
    class: "plot",
    tabindex: "0",
    role: "slider",
    "aria-label": title,
    "aria-valuemin": "0",
    "aria-valuemax": String(days.length - 1),
  });
  plot.append(svg);
  let at = days.length - 1;
  const sayAt = (/** @type {number} */ place) => {
    at = Math.max(0, Math.min(days.length - 1, place));
    const text = `${dayName(app, days[at].date)}: ${count(app, days[at].value)}`;
    plot.setAttribute("aria-valuenow", String(at));
    plot.setAttribute("aria-valuetext", text);
    return text;
  };
  const choose = (/** @type {number} */ place) => {
    told.textContent = sayAt(place);
    mark.setAttribute("x", bars[at].getAttribute("data-x") ?? "0");
    mark.setAttribute("visibility", "visible");
  };
  sayAt(at);
  /** @type {Record<string, () => number>} */
  const steps = { ArrowLeft: () => at - 1, ArrowDown: () => at - 1, ArrowRight: () => at + 1, ArrowUp: () => at + 1, Home: () => 0, End: () => days.length - 1, PageDown: () => at - 7, PageUp: () => at + 7 };
  plot.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    choose(steps[event.key]());
  });
  const byPointer = (/** @type {PointerEvent} */ event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    choose(Math.floor(((x - LEFT) / (WIDTH - LEFT)) * days.length));
  };
  plot.addEventListener("pointermove", byPointer);
  plot.addEventListener("pointerdown", byPointer);
  plot.addEventListener("focus", () => choose(at));
  return h(
    "figure",
    { class: "card chart" },
    h("figcaption", null, h("h2", null, title), h("strong", { class: "total" }, count(app, total)), h("p", { class: "muted" }, explained)),
    plot,
    told,
    h("details", null, h("summary", null, words.say("chart_table")), table(title, [words.say("chart_day"), title], [...days].reverse().map((day) => [dayName(app, day.date), count(app, day.value)]))),
  );
}

/** @param {import("../shell.js").App} app @param {Day[]} days @param {number} most */
function draw(app, days, most) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", class: "bars" });
  const high = HEIGHT - BELOW - ABOVE;
  const step = (WIDTH - LEFT) / days.length;
  for (const part of [0, 0.5, 1]) {
    const y = ABOVE + high * (1 - part);
    svg.append(shape("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "grid" }));
    if (most * part === Math.round(most * part)) svg.append(label(LEFT - 6, y + 4, "end", app.words.numbers.format(most * part)));
  }
  const mark = shape("rect", { x: 0, y: ABOVE, width: step, height: high, class: "mark", visibility: "hidden" });
  svg.append(mark);
  const bars = days.map((day, place) => {
    const x = LEFT + place * step;
    const height = day.value ? Math.max(2, (day.value / most) * high) : 0;
    const bar = shape("rect", { x: x + step * 0.1, y: ABOVE + high - height, width: step * 0.8, height, rx: Math.min(2, step / 4), class: "bar", "data-x": x });
    svg.append(bar);
    return bar;
  });
  const short = new Intl.DateTimeFormat(app.words.lang, { day: "numeric", month: "short", timeZone: "UTC" });
  svg.append(label(LEFT, HEIGHT - 4, "start", short.format(new Date(days[0].date))), label(WIDTH, HEIGHT - 4, "end", short.format(new Date(days[days.length - 1].date))));
  return { svg, mark, bars };
}

/** The next round number, so that the lines stand at values one can say. @param {number} most */
function niceTop(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 5, 10].map((times) => times * size).find((top) => top >= most) ?? most;
}

/** @param {import("../shell.js").App} app @param {string} date */
function dayName(app, date) {
  return new Intl.DateTimeFormat(app.words.lang, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(date));
}

/** @param {string} tag @param {Record<string, string | number>} props */
function shape(tag, props) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) made.setAttribute(name, String(value));
  return made;
}

/** @param {number} x @param {number} y @param {string} anchor @param {string} text */
function label(x, y, anchor, text) {
  const made = shape("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}
