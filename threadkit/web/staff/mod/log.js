// Who did what to whom.

import { button, empty, field, h, when } from "../ui.js";
import { undoOne } from "./deciding.js";
import { feedOf } from "./feed.js";
import { listing } from "./listing.js";
import { link, path, query, read } from "./places.js";

const AT_ONCE = 50;
const UNDO_MS = 30_000;
const CHOICES = ["approve", "reject", "spam", "delete", "hide", "dismiss_reports", "appeal_granted", "appeal_declined", "ban", "unban", "shadowban", "unshadowban", "delete_comments", "pin", "lock_page", "role", "site_settings"];
/** Whatever else there is, such as undoing it, cannot be undone. */
const UNDOABLE = ["approve", "reject", "spam", "hide", "delete", "dismiss_reports", "appeal_granted", "appeal_declined", "ban", "unban", "shadowban", "unshadowban"];

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  feedOf(app);
  const { words } = app;
  const wanted = read(rest);
  const list = h("ol", { class: "log" });
  const action = h("select", { onchange: () => app.go(path("log", { ...wanted, action: action.value })) }, h("option", { value: "" }, words.say("log_any")), CHOICES.map((value) => h("option", { value, selected: wanted.action === value }, words.say(`what_${value}`))));
  const mine = h("select", { onchange: () => app.go(path("log", { ...wanted, by: mine.value })) }, h("option", { value: "" }, words.say("log_by_any")), h("option", { value: app.me.user.id, selected: wanted.by === app.me.user.id }, words.say("log_by_me")), wanted.by && wanted.by !== app.me.user.id ? h("option", { value: wanted.by, selected: true }, words.say("log_by_one")) : null);
  place.append(
    h("div", { class: "view-head" }, h("h1", null, words.say("view_log")), app.may("admin") ? button(words.say("log_csv"), () => download(app)) : null),
    h("div", { class: "filters" }, field(words.say("log_what"), action), field(words.say("log_who"), mine)),
    list,
  );
  await listing(
    app,
    list,
    async (before) => {
      const found = await app.api.get(`/v1/moderation/log?${query({ action: wanted.action, by: wanted.by, user_id: wanted.user, before, limit: AT_ONCE })}`);
      return { nodes: found.entries.map((/** @type {any} */ entry) => entryRow(app, entry, found.names)), next: found.next };
    },
    () => empty(words.say("log_none")),
  );
}

/** @param {import("../shell.js").App} app @param {any} entry @param {Record<string, string>} names */
export function entryRow(app, entry, names) {
  const { words } = app;
  const undone = /^undo_(.+)$/.exec(entry.action);
  const what = words.say(`log_${undone ? undone[1] : entry.action}`).replace(/^log_/, "");
  const whom = entry.user_id && entry.user_id !== entry.by ? person(app, entry.user_id, names) : null;
  const details = [];
  if (entry.reason) details.push(h("q", null, h("bdi", null, entry.reason)));
  if (entry.until_ms) details.push(words.say("log_until", { date: words.date(entry.until_ms / 1000) }));
  if (entry.count !== undefined && entry.count !== null) details.push(words.say("log_count", { n: entry.count }));
  const isChange = entry.before && entry.after && !entry.comment_id && !["on", "off"].includes(entry.after) && !entry.until_ms;
  if (isChange) details.push(h("span", { class: "change" }, h("bdi", null, entry.before), " → ", h("bdi", null, entry.after)));
  return h(
    "li",
    { tabindex: "-1" },
    h("div", null, entry.by ? person(app, entry.by, names) : words.say("log_server"), " ", undone ? words.say("log_undid", { what }) : what, " ", whom),
    details.length ? h("div", { class: "muted details" }, details.flatMap((one, at) => (at ? [" · ", one] : [one]))) : null,
    h("div", { class: "muted when" }, when(app, entry.at_ms / 1000), undo(app, entry)),
  );
}

/** @param {import("../shell.js").App} app @param {string} id @param {Record<string, string>} names */
function person(app, id, names) {
  const name = id === app.me.user.id ? app.words.say("you") : names[id] ? app.words.name(names[id]) : app.words.say("somebody");
  return h("a", { href: link("people", { id }) }, h("bdi", null, name));
}

/** @param {import("../shell.js").App} app @param {any} entry */
function undo(app, entry) {
  const left = entry.at_ms + UNDO_MS - Date.now();
  if (left <= 0 || entry.by !== app.me.user.id || !UNDOABLE.includes(entry.action)) return null;
  const pressed = button(
    app.words.say("undo"),
    async () => {
      pressed.disabled = true;
      try {
        await undoOne(app, entry.id);
        app.toast(app.words.say("undone"));
        app.go(location.hash.replace(/^#\/?/, ""));
      } catch (error) {
        app.toast(app.sentence(error));
      }
    },
    { class: "quiet" },
  );
  setTimeout(() => pressed.remove(), left);
  return pressed;
}

/** @param {import("../shell.js").App} app */
async function download(app) {
  try {
    const answer = await app.api.open("GET", "/v1/moderation/log.csv");
    if (!answer.ok) throw new Error(String(answer.status));
    const url = URL.createObjectURL(await answer.blob());
    const file = h("a", { href: url, download: "moderation-log.csv" });
    file.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  } catch (error) {
    app.toast(app.sentence(error));
  }
}
