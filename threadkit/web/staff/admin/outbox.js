// What is still to be carried out, what failed, and what was given up: once more, or never.

import { ask, empty, h, when } from "../ui.js";
import { card, count, doing, facts, head, pill, seconds, span, table } from "./parts.js";
import { server } from "./server.js";

const LONG_S = 60;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const body = h("div", { class: "stack wide" });
  const look = async () => {
    const state = await server(app, "GET", "server/outbox");
    app.badge("outbox", state.dead);
    body.replaceChildren(sums(app, state), ...(state.sites.length ? [bySite(app, state.sites)] : []), letters(app, state, look));
  };
  place.append(head(app, "outbox", doing(app, words.say("look_again"), look)), body);
  await look();
}

/** @param {import("../shell.js").App} app @param {any} state */
function sums(app, state) {
  const { words } = app;
  const isSlow = (state.oldest_waits_s ?? 0) > LONG_S;
  return card(
    words.say("outbox_now"),
    facts([
      [words.say("outbox_waiting"), [pill(isSlow ? "bad" : "ok", count(app, state.waiting)), state.oldest_waits_s === null ? "" : ` ${words.say("outbox_oldest", { span: span(app, state.oldest_waits_s) })}`]],
      [words.say("outbox_retrying"), pill(state.retrying ? "warning" : "ok", count(app, state.retrying))],
      [words.say("outbox_dead"), pill(state.dead ? "bad" : "ok", count(app, state.dead))],
    ]),
  );
}

/** @param {import("../shell.js").App} app @param {any[]} sites */
function bySite(app, sites) {
  const { words } = app;
  return card(
    words.say("outbox_by_site"),
    table(
      words.say("outbox_by_site"),
      [words.say("site"), words.say("outbox_waiting"), words.say("outbox_retrying"), words.say("outbox_dead"), words.say("outbox_next")],
      sites.map((site) => [site.site ?? site.site_id, count(app, site.waiting), count(app, site.retrying), count(app, site.dead), site.next_try ? words.date(seconds(site.next_try)) : "–"]),
    ),
  );
}

/** @param {import("../shell.js").App} app @param {any} state @param {() => Promise<void>} look */
function letters(app, state, look) {
  const { words } = app;
  if (!state.letters.length) return card(words.say("outbox_letters"), empty(words.say("outbox_none"), words.say("outbox_none_text")));
  const names = new Map(state.sites.map((/** @type {any} */ site) => [site.site_id, site.site]));
  const list = h("ul", { class: "letters" }, state.letters.map((/** @type {any} */ letter) => one(app, letter, names, look)));
  let cursor = state.next;
  const more = doing(app, words.say("load_more"), async () => {
    const next = await server(app, "GET", `server/outbox?cursor=${encodeURIComponent(cursor)}`);
    list.append(...next.letters.map((/** @type {any} */ letter) => one(app, letter, names, look)));
    cursor = next.next;
    more.hidden = !cursor;
  });
  more.hidden = !cursor;
  const all = doing(app, words.say("outbox_retry_all"), async () => {
    const done = await server(app, "POST", "server/outbox/retry-all");
    app.toast(words.say("outbox_put_back", { n: done.put_back }));
    await look();
  });
  return card(words.say("outbox_letters"), h("p", { class: "muted" }, words.say("outbox_letters_text")), h("div", { class: "row" }, all), list, more);
}

/** @param {import("../shell.js").App} app @param {any} letter @param {Map<any, any>} names @param {() => Promise<void>} look */
function one(app, letter, names, look) {
  const { words } = app;
  const path = `server/outbox/${encodeURIComponent(letter.id)}`;
  const query = `?site_id=${letter.site_id}`;
  const what = [letter.kind ?? words.say("outbox_unreadable"), letter.handler].filter(Boolean).join(" · ");
  const again = async () => {
    const done = await server(app, "POST", `${path}/retry${query}`);
    app.toast(words.say("outbox_put_back", { n: done.put_back }));
    await look();
  };
  const drop = async () => {
    if (!(await ask(app, { title: words.say("outbox_drop"), text: words.say("outbox_drop_text", { what }), action: words.say("outbox_drop") }))) return;
    await server(app, "DELETE", path + query);
    app.toast(words.say("outbox_dropped"));
    await look();
  };
  return h(
    "li",
    null,
    h("p", null, h("strong", null, what), " · ", names.get(letter.site_id) ?? letter.site_id),
    h("p", { class: "muted" }, words.say("outbox_tries", { n: letter.tries }), " · ", when(app, seconds(letter.given_up))),
    h("p", { class: "error" }, letter.why),
    h("div", { class: "row" }, doing(app, words.say("outbox_retry"), again, { "aria-label": words.say("outbox_retry_what", { what }) }), doing(app, words.say("outbox_drop"), drop, { class: "danger", "aria-label": words.say("outbox_drop_what", { what }) })),
  );
}
