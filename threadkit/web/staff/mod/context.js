// The thread around a comment.

import { cleaned, h, when } from "../ui.js";

/** @param {import("../shell.js").App} app @param {any} found what `/v1/moderation/comments/{id}` says */
export function surroundings(app, { item, above, beside, below }) {
  const { words } = app;
  const level = above.length;
  const rows = [
    ...above.map((/** @type {any} */ one, /** @type {number} */ at) => row(app, one, at)),
    ...beside.map((/** @type {any} */ one) => row(app, one, level)),
    row(app, item.comment, level, true),
    ...below.map((/** @type {any} */ one) => row(app, one, level + 1)),
  ];
  const alone = !above.length && !beside.length && !below.length;
  return h("div", null, h("p", { class: "muted" }, words.say(alone ? "context_alone" : "context_title")), h("ol", { class: "thread" }, rows));
}

/** @param {import("../shell.js").App} app @param {any} comment @param {number} level @param {boolean} [isHere] */
function row(app, comment, level, isHere = false) {
  const { words } = app;
  const status = comment.s ?? "approved";
  const gone = status === "deleted";
  return h(
    "li",
    { class: isHere ? "here" : null, "data-level": Math.min(level, 6), "aria-current": isHere ? "true" : null },
    h(
      "p",
      { class: "thread-head" },
      h("bdi", null, words.name(comment.n)),
      h("span", { class: "muted" }, " · ", when(app, comment.x)),
      isHere ? h("span", { class: "tag" }, words.say("context_here")) : status !== "approved" ? h("span", { class: `tag status-${status}` }, words.say(`status_${status}`)) : null,
    ),
    h("div", { class: "body", dir: "auto" }, gone ? h("p", { class: "muted" }, words.say("status_deleted")) : cleaned(comment.h)),
  );
}
