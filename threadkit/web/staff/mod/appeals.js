// Authors who ask for another look.

import { empty, h, when } from "../ui.js";
import { CommentCard } from "./card.js";
import { offer, undoOne } from "./deciding.js";
import { feedOf } from "./feed.js";
import { listing } from "./listing.js";
import { tellOfNews } from "./news.js";
import { query } from "./places.js";

const AT_ONCE = 50;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const feed = feedOf(app);
  const list = h("div", { class: "cards" });
  place.append(h("div", { class: "view-head" }, h("h1", null, words.say("view_appeals"))), list);

  const again = () => {
    feed.count();
    if (app.place.querySelector(".view-appeals")) app.go("appeals");
  };

  const make = (/** @type {any} */ appeal) => {
    const reason = h("input", { maxlength: "500", "aria-label": words.say("appeal_reason"), placeholder: words.say("appeal_reason") });
    const rule = (/** @type {"grant" | "decline"} */ decision) =>
      card.run(async () => {
        const { entry } = await app.api.call("POST", `/v1/moderation/appeals/${card.id}`, { decision, reason: reason.value.trim() || null, seen: card.item.updated_at });
        offer(app, words.say(`done_${decision}`), async () => {
          await undoOne(app, entry);
          again();
        });
        const next = card.element.nextElementSibling ?? card.element.previousElementSibling;
        card.element.remove();
        feed.count();
        if (next) /** @type {HTMLElement} */ (next).focus();
        else again();
      });
    /** @type {CommentCard} */
    const card = new CommentCard(app, appeal, {
      showsStatus: true,
      actions: () =>
        appeal.may_decide
          ? [
              { id: "grant", label: words.say("action_grant"), kind: "primary", then: () => rule("grant") },
              { id: "decline", label: words.say("action_decline"), then: () => rule("decline") },
            ]
          : [],
      more: () => [
        h("blockquote", { class: "appeal" }, h("p", null, h("bdi", null, appeal.text)), h("p", { class: "muted" }, words.say("appeal_by_author"), " · ", when(app, Date.parse(appeal.created_at) / 1000))),
        appeal.decided_by ? h("p", { class: "muted" }, words.say("decided_before_by", { name: words.name(appeal.decided_by.name) })) : null,
        appeal.may_decide ? reason : h("p", { class: "warn" }, words.say("appeal_not_you")),
      ].filter(Boolean),
    });
    return card.element;
  };

  await listing(
    app,
    list,
    async (cursor) => {
      const { items, next } = await app.api.get(`/v1/moderation/appeals?${query({ limit: AT_ONCE, cursor })}`);
      return { nodes: items.map(make), next };
    },
    () => empty(words.say("appeals_empty"), words.say("appeals_empty_text")),
  );
  return tellOfNews(app, feed, list, "appeals", again);
}
