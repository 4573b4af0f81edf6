// Deciding, and taking it back within half a minute.

import { ask, dialog, field, form, h } from "../ui.js";

export const ACTIONS = ["approve", "reject", "spam", "delete"];
export const KEYS = /** @type {Record<string, string>} */ ({ approve: "a", reject: "r", spam: "s", delete: "d" });
const UNDO_MS = 30_000;

/** @typedef {{site: string, until: number, away: () => void, undo: () => Promise<any>}} Deed */
/** @type {Deed[]} */
const done = [];

/** Say what was done and offer to take it back. @param {import("../shell.js").App} app @param {string} text @param {() => Promise<any>} undo */
export function offer(app, text, undo) {
  done.at(-1)?.away();
  const deed = { site: app.site.id, until: Date.now() + UNDO_MS, undo, away: () => {} };
  deed.away = app.toast(text, { label: app.words.say("undo"), then: () => takeBack(app, deed) }, UNDO_MS);
  done.push(deed);
}

/** The newest deed that can still be taken back. @param {import("../shell.js").App} app */
export function undoLast(app) {
  const deed = done.at(-1);
  if (deed && deed.until > Date.now() && deed.site === app.site.id) return takeBack(app, deed);
  done.length = 0;
  app.toast(app.words.say("nothing_to_undo"));
}

/** @param {import("../shell.js").App} app @param {Deed} deed */
async function takeBack(app, deed) {
  deed.away();
  if (done.includes(deed)) done.splice(done.indexOf(deed), 1);
  try {
    await deed.undo();
    app.toast(app.words.say("undone"));
  } catch (error) {
    app.toast(app.sentence(error));
  }
}

/** @param {import("../shell.js").App} app @param {string} entry */
export function undoOne(app, entry) {
  return app.api.call("POST", `/v1/moderation/undo/${entry}`);
}

/** What is asked before it is done. Says whether to go on. @param {import("../shell.js").App} app @param {string} action @param {number} [n] */
export async function mayGoOn(app, action, n = 1) {
  if (action !== "delete") return true;
  return ask(app, { title: app.words.say("delete_title", { n }), text: app.words.say("delete_text"), action: app.words.say("action_delete") });
}

/** Decide about one; the answer is what takes it back. @param {import("../shell.js").App} app @param {string} action @param {any} item @param {Record<string, any>} [more] @returns {Promise<string>} */
export async function decide(app, action, item, more) {
  const answer = await app.api.call("POST", `/v1/moderation/${action}/${item.comment.i}`, { seen: item.updated_at, ...more });
  return answer.undo;
}

/** Why, in words that the author reads. Resolves to null when it was left. @param {import("../shell.js").App} app @returns {Promise<string | null>} */
export function askReason(app) {
  return new Promise((answered) => {
    /** @type {string | null} */
    let reason = null;
    const text = h("textarea", { rows: "3", maxlength: "500", required: true });
    const box = dialog(app, app.words.say("reject_reason_title"), [
      form(app, [field(app.words.say("reason"), text, app.words.say("reject_reason_hint"))], app.words.say("action_reject"), async () => {
        reason = text.value.trim();
        box.close();
      }),
    ]);
    box.addEventListener("close", () => answered(reason));
    text.focus();
  });
}

/**
 * The buttons of a card outside the queue: what they do is done at once, and `then` shows it.
 * @param {import("../shell.js").App} app @param {import("./card.js").CommentCard} card @param {string[]} wanted @param {(action: string | null) => any} then null when it was taken back
 */
export function buttons(app, card, wanted, then) {
  return wanted.map((action) => ({
    id: action,
    label: app.words.say(`action_${action}`),
    kind: kindOf(action),
    then: () =>
      card.run(async () => {
        if (!(await mayGoOn(app, action))) return;
        const entry = await decide(app, action, card.item);
        offer(app, app.words.say(`done_${action}`), async () => {
          await undoOne(app, entry);
          await then(null);
        });
        await then(action);
      }),
  }));
}

/** @param {string} action */
export function kindOf(action) {
  return { approve: "primary", delete: "danger" }[action] ?? "";
}
