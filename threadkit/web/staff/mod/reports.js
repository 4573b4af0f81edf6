// What visitors reported, one card for each comment.

import { empty, h } from "../ui.js";
import { CommentCard } from "./card.js";
import { buttons, offer, undoOne } from "./deciding.js";
import { feedOf } from "./feed.js";
import { listing } from "./listing.js";
import { tellOfNews } from "./news.js";
import { query } from "./places.js";

const AT_ONCE = 100;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const feed = feedOf(app);
  const list = h("div", { class: "cards" });
  /** @type {Map<string, {card: CommentCard, reports: any[]}>} */
  const groups = new Map();
  place.append(h("div", { class: "view-head" }, h("h1", null, words.say("view_reports"))), list);

  const add = (/** @type {any} */ report) => {
    const known = groups.get(report.comment_id);
    if (known) {
      known.reports.push(report);
      known.card.reported(known.reports);
      return null;
    }
    if (!report.comment) return null;
    /** @type {CommentCard | undefined} */
    let card = undefined;
    card = new CommentCard(app, report, { showsStatus: true, actions: () => actions(card) });
    groups.set(report.comment_id, { card, reports: [report] });
    card.reported([report]);
    card.actions();
    return card.element;
  };

  /** @returns {any[]} */
  const actions = (/** @type {CommentCard | undefined} */ card) => {
    if (!card) return [];
    const leaves = () => {
      const next = card.element.nextElementSibling ?? card.element.previousElementSibling;
      card.element.remove();
      groups.delete(card.id);
      feed.count();
      if (next) /** @type {HTMLElement} */ (next).focus();
      else again();
    };
    const then = (/** @type {string | null} */ action) => (action ? leaves() : again());
    const dismiss = { id: "dismiss", label: words.say("action_dismiss"), kind: "primary", then: () => card.run(() => leave(card, leaves)) };
    return card.status === "pending" ? buttons(app, card, ["approve", "reject", "spam", "delete"], then) : [dismiss, ...buttons(app, card, ["reject", "spam", "delete"], then)];
  };

  const leave = async (/** @type {CommentCard} */ card, /** @type {() => void} */ leaves) => {
    const { undo } = await app.api.call("POST", `/v1/moderation/reports/${card.id}/dismiss`, { seen: card.item.updated_at });
    if (undo) {
      offer(app, words.say("done_dismiss"), async () => {
        await undoOne(app, undo);
        again();
      });
    }
    leaves();
  };

  const again = () => {
    feed.count();
    if (app.place.querySelector(".view-reports")) app.go("reports");
  };

  await listing(
    app,
    list,
    async (cursor) => {
      const { items, next } = await app.api.get(`/v1/moderation/reports?${query({ limit: AT_ONCE, cursor })}`);
      return { nodes: items.map(add).filter(Boolean), next };
    },
    () => empty(words.say("reports_empty"), words.say("reports_empty_text")),
  );
  return tellOfNews(app, feed, list, "reports", again);
}
