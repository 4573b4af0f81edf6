// The first thing an owner sees: what needs somebody, how it goes, and the line that puts comments on a page.

import { copyable, h } from "../ui.js";
import { examine } from "./examine.js";
import { card, count, head, pill, snippet } from "./parts.js";
import { NAMES } from "./usage.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const [waiting, usage, newest] = await Promise.all([
    app.api.get("/v1/moderation/counts"),
    app.api.get("/v1/admin/sites/{site}/usage?days=30"),
    app.api.get("/v1/admin/sites/{site}/comments?limit=1"),
  ]);
  const isNew = newest.comments.length === 0;
  const health = h("div", { class: "stack" });
  const attention = card(words.say("attention"), todo(app, waiting), health);
  place.append(
    head(app, "overview"),
    isNew ? firstSteps(app) : "",
    attention,
    numbers(app, usage.days),
    isNew ? "" : card(words.say("snippet_title"), h("p", { class: "muted" }, words.say("snippet_text", { domain: app.site.domain })), copyable(app, snippet(app.site), words.say("snippet_title"))),
  );
  if (app.may("owner")) await reds(app, health);
}

/** @param {import("../shell.js").App} app @param {any} waiting */
function todo(app, waiting) {
  const kinds = ["queue", "reports", "appeals"].filter((kind) => waiting[kind] > 0);
  if (!kinds.length) return h("p", null, pill("ok", app.words.say("state_ok")), " ", app.words.say("nothing_waits"));
  return h(
    "ul",
    { class: "stack" },
    kinds.map((kind) => h("li", { class: "row" }, pill("warning", count(app, waiting[kind])), h("a", { href: `/mod#/${kind}` }, app.words.say(`waiting_${kind}`, { n: waiting[kind] })))),
  );
}

/** What the doctor finds; it may take a moment, and the rest does not wait for it. @param {import("../shell.js").App} app @param {HTMLElement} place */
async function reds(app, place) {
  place.replaceChildren(h("p", { class: "muted" }, app.words.say("doctor_looks")));
  try {
    const found = await examine(app);
    const wrong = found.checks.filter((/** @type {any} */ check) => check.state === "bad" || check.state === "warning");
    app.badge("doctor", found.checks.filter((/** @type {any} */ check) => check.state === "bad").length);
    place.replaceChildren(
      wrong.length
        ? h(
            "ul",
            { class: "stack" },
            wrong.map((/** @type {any} */ check) => h("li", { class: "row" }, pill(check.state, app.words.say(`state_${check.state}`)), h("a", { href: "#/doctor" }, check.title), h("span", { class: "muted" }, check.found))),
          )
        : h("p", null, pill("ok", app.words.say("state_ok")), " ", app.words.say("doctor_well")),
    );
  } catch (error) {
    place.replaceChildren(h("p", { class: "error" }, app.sentence(error)));
  }
}

/** @param {import("../shell.js").App} app @param {any[]} days */
function numbers(app, days) {
  const sum = (/** @type {string} */ name) => days.reduce((total, day) => total + day[name], 0);
  return card(
    app.words.say("last_days", { n: 30 }),
    h("ul", { class: "tiles" }, NAMES.map((name) => h("li", null, h("a", { href: "#/usage" }, h("strong", null, count(app, sum(name))), h("span", null, app.words.say(`usage_${name}`)))))),
  );
}

/** @param {import("../shell.js").App} app */
function firstSteps(app) {
  const { words, site } = app;
  return card(
    words.say("first_title"),
    h(
      "ol",
      { class: "steps" },
      h("li", null, h("p", null, words.say("first_snippet", { domain: site.domain })), copyable(app, snippet(site), words.say("snippet_title"))),
      h("li", null, h("p", null, words.say("first_write"))),
      app.may("owner") ? h("li", null, h("p", null, words.say("first_ways"), " ", h("a", { href: "#/ways" }, words.say("view_ways")))) : null,
      h("li", null, h("p", null, words.say("first_people"), " ", h("a", { href: "#/people" }, words.say("view_people")))),
    ),
  );
}
