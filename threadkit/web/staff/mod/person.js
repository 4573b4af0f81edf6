// What is known of somebody, and what can be done about them.

import { ask, button, h, when } from "../ui.js";
import { banDialog } from "./ban.js";
import { commentCard } from "./comments.js";
import { offer, undoOne } from "./deciding.js";
import { followJob } from "./jobs.js";
import { entryRow } from "./log.js";
import { nameOf } from "./names.js";
import { notes } from "./notes.js";
import { link } from "./places.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string} id */
export async function person(app, place, id) {
  const until = new AbortController();
  const draw = async () => {
    const card = await app.api.get(`/v1/moderation/users/${id}`);
    if (!until.signal.aborted) place.replaceChildren(...content(app, card, () => draw().catch((error) => app.toast(app.sentence(error))), until.signal));
  };
  await draw();
  return () => until.abort();
}

/** @param {import("../shell.js").App} app @param {any} card @param {() => void} again @param {AbortSignal} signal */
function content(app, card, again, signal) {
  const { words } = app;
  const { user, counts } = card;
  const name = words.name(user.name);
  const progress = h("div", { class: "job", role: "status" });
  const title = h("h1", { tabindex: "-1" }, h("bdi", null, name));
  return [
    h("p", null, h("a", { href: link("people") }, words.say("all_people"))),
    h("div", { class: "view-head" }, title, card.is_guest ? h("span", { class: "tag" }, words.say("badge_guest")) : null, words.has(`role_${card.role}`) ? h("span", { class: "tag" }, words.say(`role_${card.role}`)) : null),
    standing(app, card),
    h(
      "dl",
      { class: "facts" },
      fact(words.say("fact_since"), words.date(Date.parse(user.created_at) / 1000)),
      fact(words.say("fact_karma"), user.karma),
      fact(words.say("fact_comments"), counts.comments),
      fact(words.say("fact_decided"), words.say("fact_decided_value", { approved: counts.approved, rejected: counts.rejected })),
      fact(words.say("fact_lately", { days: counts.lately.days }), words.say("fact_lately_value", counts.lately)),
      fact(words.say("fact_reports_against"), counts.reports_against),
      fact(words.say("fact_reports_by"), words.say("fact_reports_by_value", { upheld: counts.reports_upheld, dismissed: counts.reports_dismissed })),
    ),
    deeds(app, card, again, progress, signal),
    progress,
    ...(card.notes ? [notes(app, user.id, card.notes)] : []),
    section(words.say("newest_comments"), card.comments.length ? h("div", { class: "cards" }, card.comments.map((/** @type {any} */ item) => commentCard(app, item).element)) : h("p", { class: "muted" }, words.say("wrote_nothing"))),
    ...(counts.comments > card.comments.length ? [h("p", null, h("a", { href: link("comments", { author: user.id, name }) }, words.say("all_theirs")))] : []),
    section(words.say("history"), card.log.length ? h("ol", { class: "log" }, card.log.map((/** @type {any} */ entry) => entryRow(app, entry, { [user.id]: user.name }))) : h("p", { class: "muted" }, words.say("history_none"))),
  ].filter(Boolean);
}

/** @param {string} title @param {any} inside */
function section(title, inside) {
  return h("section", { class: "part" }, h("h2", null, title), inside);
}

/** @param {string} label @param {any} value */
function fact(label, value) {
  return h("div", null, h("dt", null, label), h("dd", null, String(value)));
}

/** @param {import("../shell.js").App} app @param {any} card */
function standing(app, card) {
  const { words } = app;
  const lines = [];
  const line = (/** @type {string} */ text, /** @type {any} */ mark) => {
    const by = h("span", { class: "muted" });
    if (mark?.since) nameOf(app, mark.by).then((name) => by.append(" ", words.say("standing_by", { name }), " ", when(app, Date.parse(mark.since) / 1000)));
    lines.push(h("p", { class: "standing" }, h("strong", null, text), mark?.reason ? [" “", h("bdi", null, mark.reason), "”"] : null, by));
  };
  if (card.ban) line(card.ban.until ? words.say("banned_until", { date: words.date(Date.parse(card.ban.until) / 1000) }) : words.say("banned_for_ever"), card.ban);
  if (card.shadow_ban) line(words.say("is_shadowbanned"), card.shadow_ban);
  if (card.banned_everywhere) line(words.say("is_banned_everywhere"), null);
  if (card.shadow_banned_everywhere) line(words.say("is_shadowbanned_everywhere"), null);
  return lines.length ? h("div", { class: "card standings" }, lines) : null;
}

/** @param {import("../shell.js").App} app @param {any} card @param {() => void} again @param {HTMLElement} progress @param {AbortSignal} signal */
function deeds(app, card, again, progress, signal) {
  const { words, api } = app;
  const { id } = card.user;
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const run = (/** @type {() => Promise<any>} */ act) => async (/** @type {Event} */ event) => {
    const pressed = /** @type {HTMLButtonElement} */ (event.target);
    pressed.disabled = true;
    error.hidden = true;
    try {
      await act();
    } catch (problem) {
      error.textContent = app.sentence(problem);
      error.hidden = false;
    }
    pressed.disabled = false;
  };
  /** Calls that say in a header how they are taken back. */
  const undoable = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {string} */ said) => {
    const answer = await api.answer(method, path);
    const entry = answer.headers.get("x-undo");
    if (entry) offer(app, words.say(said), () => undoOne(app, entry).then(again));
    again();
  };
  const remove = async () => {
    if (!(await ask(app, { title: words.say("delete_all_title"), text: words.say("delete_all_text", { n: card.counts.comments }), action: words.say("delete_all"), typed: words.name(card.user.name) }))) return;
    const job = await api.call("POST", `/v1/moderation/users/${id}/delete-comments`);
    followJob(app, progress, job, signal, again);
  };
  const mine = card.user.id === app.me.user.id;
  if (mine || card.notes === null) return h("p", { class: "muted" }, words.say(mine ? "this_is_you" : "stands_as_high"));
  return h(
    "div",
    { class: "part" },
    h(
      "div",
      { class: "row" },
      card.ban ? button(words.say("unban"), run(() => undoable("POST", `/v1/moderation/unban/${id}`, "done_unban"))) : button(words.say("ban"), () => banDialog(app, card, (job) => (again(), job && followJob(app, progress, job, signal, again))), { class: "danger" }),
      card.shadow_ban
        ? button(words.say("unshadowban"), run(() => undoable("DELETE", `/v1/moderation/shadowban/${id}`, "done_unshadowban")))
        : button(words.say("shadowban"), run(() => undoable("POST", `/v1/moderation/shadowban/${id}`, "done_shadowban"))),
      button(words.say("delete_all"), run(remove), { class: "danger" }),
    ),
    h("p", { class: "hint" }, words.say("shadowban_hint")),
    error,
  );
}
