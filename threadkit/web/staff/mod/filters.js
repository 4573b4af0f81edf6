// Which of those that wait.

import { field, h } from "../ui.js";
import { nameOf } from "./names.js";
import { path } from "./places.js";

/** Parts of the sentences that say why something waits. */
const REASONS = /** @type {Record<string, string>} */ ({ new: "new here", links: "link", words: "listed as", spam: "like what was rejected", repeated: "nearly the same", reported: "reported by" });

/** @param {import("../shell.js").App} app @param {Record<string, string>} wanted */
export function filters(app, wanted) {
  const { words } = app;
  const go = (/** @type {Record<string, string | null>} */ more) => app.go(path("queue", { ...wanted, ...more }));
  const reported = h(
    "select",
    { onchange: () => go({ reported: reported.value }) },
    ["", "true", "false"].map((value) => h("option", { value, selected: (wanted.reported ?? "") === value }, words.say(`filter_reported_${value || "any"}`))),
  );
  const reason = h(
    "select",
    { onchange: () => go({ reason: reason.value }) },
    h("option", { value: "" }, words.say("filter_reason_any")),
    Object.entries(REASONS).map(([name, value]) => h("option", { value, selected: wanted.reason === value }, words.say(`filter_reason_${name}`))),
  );
  const chips = h("div", { class: "row chips" });
  if (wanted.author) {
    const name = h("bdi", null, "…");
    nameOf(app, wanted.author).then((found) => (name.textContent = found));
    chips.append(chip(app, [words.say("chip_author"), " ", name], () => go({ author: null })));
  }
  if (wanted.page) chips.append(chip(app, [words.say("chip_page")], () => go({ page: null })));
  return h("div", { class: "filters" }, field(words.say("filter_reported"), reported), field(words.say("filter_reason"), reason), chips.children.length ? chips : null);
}

/** @param {import("../shell.js").App} app @param {any[]} text @param {() => void} away */
function chip(app, text, away) {
  return h("span", { class: "chip" }, ...text, h("button", { type: "button", class: "quiet round", "aria-label": app.words.say("filter_away"), onclick: away }, "×"));
}
