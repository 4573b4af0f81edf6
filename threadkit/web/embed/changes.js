// What changes a thread after it was loaded: what others do, and what one does oneself.

import { DELETED, NOBODY } from "./thread.js";

/** @typedef {import("./thread.js").Thread} Thread */
/** @typedef {import("./comment").Comment} Comment */

/** What stays when a thread was loaded anew: what is on its way, and, if wanted, replies that were loaded by hand. @param {Thread} thread @param {Map<string, Comment>} before @param {boolean} keepsReplies */
export function carry(thread, before, keepsReplies) {
  if (keepsReplies) for (const comment of [...thread.comments.values()]) reopen(thread, comment, before);
  for (const draft of before.values()) {
    const list = draft.sending ? thread.siblings(draft) : null;
    if (!list) continue;
    thread.comments.set(draft.id, draft);
    draft.parent ? list.push(draft.id) : list.unshift(draft.id);
  }
}

/** @param {Thread} thread @param {Comment} comment @param {Map<string, Comment>} before */
function reopen(thread, comment, before) {
  const old = before.get(comment.id);
  for (const id of comment.more ? (old?.replies ?? []) : []) {
    const reply = before.get(id);
    if (thread.comments.has(id) || !reply || reply.sending) continue;
    thread.comments.set(id, { ...reply, replies: [], more: reply.replies.length + reply.more });
    comment.replies.push(id);
    comment.more -= 1;
    comment.cursor = /** @type {Comment} */ (old).cursor;
    reopen(thread, /** @type {Comment} */ (thread.comments.get(id)), before);
  }
  comment.more = Math.max(0, comment.more);
}

/** Take an answer of `…/replies`. @param {Thread} thread @param {string} parentId @param {any} answer */
export function takeReplies(thread, parentId, answer) {
  const parent = thread.comments.get(parentId);
  if (!parent) return [];
  parent.cursor = answer.next ?? null;
  const added = [];
  for (const one of answer.replies) {
    if (thread.comments.has(one.i)) continue;
    parent.replies.push(thread.keep(one, parentId));
    added.push(one.i);
  }
  parent.more = parent.cursor ? Math.max(1, parent.more - added.length) : 0;
  return added;
}

/** One more comment, if it has a place here. Says whether it was new. @param {Thread} thread @param {any} wire */
export function add(thread, wire) {
  const parent = wire.q ? thread.comments.get(wire.q) : null;
  if (thread.comments.has(wire.i) || (wire.q && !parent)) return false;
  thread.keep(wire, parent?.id ?? null);
  parent ? parent.replies.push(wire.i) : thread.roots.unshift(wire.i);
  return true;
}

/** The stand-in of a comment becomes the one that the server wrote. @param {Thread} thread @param {string} draftId @param {any} wire */
export function settle(thread, draftId, wire) {
  const draft = thread.comments.get(draftId);
  const isCounted = thread.echoes.delete(wire.i) || thread.comments.has(wire.i) || (wire.s ?? "approved") !== "approved";
  if (!draft) return;
  const list = thread.siblings(draft);
  const place = list?.indexOf(draftId) ?? -1;
  thread.comments.delete(draftId);
  if (thread.comments.has(wire.i)) list?.splice(place, 1);
  else list?.splice(place, 1, thread.keep(wire, draft.parent));
  if (!isCounted) thread.total += 1;
}

/** Take a comment away, and all below it; the empty places above go too. Says how many went. @param {Thread} thread @param {string} id @returns {number} */
export function drop(thread, id) {
  const comment = thread.comments.get(id);
  if (!comment) return 0;
  const list = thread.siblings(comment);
  const gone = [...thread.tree([id])];
  list?.splice(list.indexOf(id), 1);
  for (const one of gone) thread.comments.delete(one);
  const above = comment.parent ? thread.comments.get(comment.parent) : undefined;
  return gone.length + (above?.status === DELETED && isEmpty(above) ? drop(thread, above.id) : 0);
}

/** @param {Comment} comment */
const isEmpty = (comment) => !comment.replies.length && !comment.more;

/** Deleted: a place for its replies, or nothing. Says how many went. @param {Thread} thread @param {string} id */
export function remove(thread, id) {
  const comment = thread.comments.get(id);
  if (!comment || isEmpty(comment)) return drop(thread, id);
  Object.assign(comment, { status: DELETED, author: NOBODY, name: "[deleted]", avatar: null, karma: 0, text: "", html: "" });
  return 0;
}

/** Counts from the server, as of a version. They wait while a click of one's own has no answer; older ones than are known do not count. @param {Thread} thread @param {string} id @param {number} up @param {number} down @param {number} [version] */
export function count(thread, id, up, down, version) {
  const comment = thread.comments.get(id);
  const pending = thread.pending.get(id);
  if (pending && version !== undefined && version < pending.version) return;
  if (pending) Object.assign(pending, { up, down, version: version ?? pending.version });
  if (comment && !pending?.clicks) Object.assign(comment, { up, down });
}
