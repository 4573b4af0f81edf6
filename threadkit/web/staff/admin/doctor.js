// What is set up well and what is not, with the fix beside it.

import { h, when } from "../ui.js";
import { examine } from "./examine.js";
import { card, doing, head, pill, seconds } from "./parts.js";

/** @type {Record<string, number>} */
const WORST_FIRST = { bad: 0, warning: 1, unknown: 2, ok: 3 };

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const list = h("div", { class: "stack" });
  const look = async () => {
    list.setAttribute("aria-busy", "true");
    const found = await examine(app);
    list.removeAttribute("aria-busy");
    app.badge("doctor", found.checks.filter((/** @type {any} */ check) => check.state === "bad").length);
    const told = verdict(app, found);
    list.replaceChildren(told, ...cards(app, [...found.checks, ownCookie(app)]));
    app.announce(told.textContent ?? "");
  };
  place.append(head(app, "doctor", doing(app, words.say("look_again"), look)), list);
  list.append(h("p", { class: "muted" }, words.say("doctor_looks")));
  await look();
}

/** @param {import("../shell.js").App} app @param {any} found */
function verdict(app, found) {
  const { words } = app;
  const [bad, warnings] = ["bad", "warning"].map((state) => found.checks.filter((/** @type {any} */ check) => check.state === state).length);
  return h(
    "p",
    { class: `notice ${bad ? "bad" : warnings ? "warning" : "ok"}` },
    h("strong", null, bad ? words.say("doctor_bad", { n: bad }) : warnings ? words.say("doctor_warnings", { n: warnings }) : words.say("doctor_well")),
    " ",
    words.say(found.is_whole_server ? "doctor_server" : "doctor_site"),
    " ",
    when(app, seconds(found.looked_at)),
  );
}

/** That this browser keeps the page's cookie shows by being signed in after a request; that scripts cannot read it, by looking. @param {import("../shell.js").App} app */
function ownCookie(app) {
  const isHidden = !document.cookie.includes("threadkit_staff");
  return {
    id: "cookie",
    title: app.words.say("check_cookie"),
    state: isHidden ? "ok" : "bad",
    found: app.words.say(isHidden ? "check_cookie_ok" : "check_cookie_bad"),
    fix: app.words.say("check_cookie_fix"),
  };
}

/** One card for the server, and one for each site. @param {import("../shell.js").App} app @param {any[]} checks */
function cards(app, checks) {
  const groups = new Map();
  for (const check of checks) groups.set(check.site ?? "", [...(groups.get(check.site ?? "") ?? []), check]);
  return [...groups].map(([site, found]) =>
    card(
      site || app.words.say("group_server"),
      h("ul", { class: "checks" }, [...found].sort((one, other) => WORST_FIRST[one.state] - WORST_FIRST[other.state]).map((check) => row(app, check))),
    ),
  );
}

/** @param {import("../shell.js").App} app @param {any} check */
function row(app, check) {
  return h(
    "li",
    { class: "check", "data-check": check.id },
    pill(check.state, app.words.say(`state_${check.state}`)),
    h("div", null, h("h3", null, check.title), h("p", null, check.found), check.fix && check.state !== "ok" ? h("p", { class: "fix" }, h("strong", null, app.words.say("fix")), " ", check.fix) : null),
  );
}
