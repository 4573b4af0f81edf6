// The thread as this browser knows it: comments by id, their order, and what events change about them. No DOM here.

/**
 * @typedef {object} Comment
 * @property {string} id
 * @property {string} author
 * @property {string} name
 * @property {string | null} avatar
 * @property {number} karma
 * @property {string} text
 * @property {string} html
 * @property {number} up
 * @property {number} down
 * @property {number} created seconds
 * @property {number} modified seconds
 * @property {boolean} edited
 * @property {string} status
 * @property {string | null} parent whom it hangs under
 * @property {string | null} answers whom it answers, which may be deeper than it hangs
 * @property {string[]} replies
 * @property {number} more replies that are not here yet
 * @property {string | null} cursor to the next of them
 * @property {"up" | "down" | null} vote
 * @property {boolean} [sending] on its way to the server
 */

export const DELETED = "deleted";
export const NOBODY = "d0000000-0000-0000-0000-000000000000";

export class Thread {
  constructor() {
    /** @type {Map<string, Comment>} */
    this.comments = new Map();
    /** @type {string[]} */
    this.roots = [];
    this.total = 0;
    this.pageId = "";
    this.version = 0;
    this.locked = false;
    /** @type {string | null} */
    this.next = null;
    /** @type {Set<string>} */
    this.pinned = new Set();
    /** @type {Map<string, any>} one's own votes, see doing.js */
    this.own = new Map();
  }

  /** Take an answer of `GET /v1/comments`: more of it, or all anew, where replies that were opened may stay. @param {any} answer @param {{isMore?: boolean, keepsReplies?: boolean, asked?: number}} [how] `asked`: when */
  take(answer, how) {
    /** @type {Map<string, Comment>} */
    const before = how?.isMore ? new Map() : this.comments;
    if (!how?.isMore) {
      this.comments = new Map();
      this.roots = [];
      this.pinned = new Set((answer.pinned ?? []).map((/** @type {any} */ pin) => pin[0]));
    }
    this.total = answer.total;
    this.pageId = answer.page_id;
    this.version = answer.version ?? 0;
    this.locked = answer.locked ?? false;
    this.next = answer.next ?? null;
    const added = answer.tree.c.filter((/** @type {any} */ one) => !this.comments.has(one.i));
    for (const one of added) this.roots.push(this.#keep(one, null));
    if (how?.keepsReplies) for (const comment of [...this.comments.values()]) this.#reopen(comment, before);
    for (const draft of before.values()) if (draft.sending) this.#resend(draft);
    for (const [id, own] of this.own) this.isOlder(id, how?.asked) ? Object.assign(this.comments.get(id) ?? {}, own.shown) : this.own.delete(id);
    return added.map((/** @type {any} */ one) => one.i);
  }

  /** Replies that were loaded by hand stay. @param {Comment} comment @param {Map<string, Comment>} before */
  #reopen(comment, before) {
    const old = before.get(comment.id);
    for (const id of comment.more ? (old?.replies ?? []) : []) {
      const reply = before.get(id);
      if (this.comments.has(id) || !reply || reply.sending) continue;
      this.comments.set(id, { ...reply, vote: null, replies: [], more: reply.replies.length + reply.more });
      comment.replies.push(id);
      comment.more -= 1;
      comment.cursor = /** @type {Comment} */ (old).cursor;
      this.#reopen(/** @type {Comment} */ (this.comments.get(id)), before);
    }
    comment.more = Math.max(0, comment.more);
  }

  /** What is on its way is in no answer yet. @param {Comment} draft */
  #resend(draft) {
    const list = this.siblings(draft);
    if (!list) return;
    this.comments.set(draft.id, draft);
    draft.parent ? list.push(draft.id) : list.unshift(draft.id);
    this.total += 1;
  }

  /** Take an answer of `…/replies`. @param {string} parentId @param {any} answer */
  takeReplies(parentId, answer) {
    const parent = this.comments.get(parentId);
    if (!parent) return [];
    parent.cursor = answer.next ?? null;
    const added = [];
    for (const one of answer.replies ?? answer.comments ?? answer.tree?.c ?? []) {
      if (this.comments.has(one.i)) continue;
      parent.replies.push(this.#keep(one, parentId));
      added.push(one.i);
    }
    parent.more = parent.cursor ? Math.max(1, parent.more - added.length) : 0;
    return added;
  }

  /** @param {any} wire @param {string | null} parent @returns {string} */
  #keep(wire, parent) {
    const before = this.comments.get(wire.i);
    /** @type {Comment} */
    const comment = {
      id: wire.i,
      author: wire.a,
      name: wire.n,
      avatar: wire.p,
      karma: wire.k,
      text: wire.t,
      html: wire.h,
      up: wire.u,
      down: wire.d,
      created: wire.x,
      modified: wire.m,
      edited: wire.e === true || wire.m !== wire.x,
      status: wire.s ?? "approved",
      parent,
      answers: wire.q ?? null,
      replies: [],
      more: 0,
      cursor: wire.rn ?? null,
      vote: before?.vote ?? null,
    };
    this.comments.set(comment.id, comment);
    comment.replies = (wire.r ?? []).map((/** @type {any} */ reply) => this.#keep(reply, comment.id));
    if (wire.rc !== undefined) comment.more = Math.max(0, wire.rc - comment.replies.length);
    return comment.id;
  }

  /** One more comment. Says where it stands: the parent's id, "" for the top, null when it is known or has no place here. @param {any} wire @param {boolean} [isOwn] */
  add(wire, isOwn = false) {
    if (this.comments.has(wire.i)) return null;
    const parent = wire.q ? this.comments.get(wire.q) : null;
    if (wire.q && !parent) {
      this.total += 1;
      return null;
    }
    this.#keep(wire, parent?.id ?? null);
    if (parent) parent.replies.push(wire.i);
    else this.roots.unshift(wire.i);
    if (isOwn || (wire.s ?? "approved") === "approved") this.total += 1;
    return parent?.id ?? "";
  }

  /** The stand-in of a comment becomes the one that the server wrote. @param {string} draftId @param {any} wire */
  settle(draftId, wire) {
    const draft = this.comments.get(draftId);
    if (!draft) return;
    this.comments.delete(draftId);
    const isThere = this.comments.has(wire.i);
    const list = this.siblings(draft);
    const place = list?.indexOf(draftId) ?? -1;
    if (isThere) {
      if (place >= 0) list?.splice(place, 1);
      this.total -= 1;
    } else {
      this.#keep(wire, draft.parent);
      if (place >= 0) list?.splice(place, 1, wire.i);
    }
  }

  /** Take a comment away that never was. @param {string} id */
  drop(id) {
    const comment = this.comments.get(id);
    if (!comment) return;
    const list = this.siblings(comment);
    const place = list?.indexOf(id) ?? -1;
    if (place >= 0) list?.splice(place, 1);
    this.comments.delete(id);
    this.total = Math.max(0, this.total - 1);
  }

  /** Deleted: a place for its replies, or nothing. Says whether a place stays. @param {string} id */
  remove(id) {
    const comment = this.comments.get(id);
    if (!comment || comment.status === DELETED) return false;
    if (comment.replies.length || comment.more) {
      Object.assign(comment, { status: DELETED, author: NOBODY, name: "[deleted]", avatar: null, karma: 0, text: "", html: "" });
      return true;
    }
    const parent = comment.parent;
    this.drop(id);
    const above = parent ? this.comments.get(parent) : null;
    if (above && above.status === DELETED && !above.replies.length && !above.more) this.drop(above.id);
    return false;
  }

  /** From the root to a comment. @param {string} id */
  path(id) {
    const path = [];
    for (let at = this.comments.get(id); at; at = at.parent ? this.comments.get(at.parent) : undefined) path.unshift(at.id);
    return path;
  }

  /** Those beside it, and itself. @param {Comment} comment */
  siblings(comment) {
    return comment.parent ? this.comments.get(comment.parent)?.replies : this.roots;
  }

  /** Comments with all below them, as they are read. @param {string[]} [ids] @returns {Generator<string>} */
  *tree(ids = this.roots) {
    // Others write and delete between two steps.
    for (const id of [...ids]) {
      yield id;
      yield* this.tree(this.comments.get(id)?.replies ?? []);
    }
  }

  depth(/** @type {string} */ id) {
    return this.path(id).length - 1;
  }

  /** Whether what was asked for then may know nothing of one's own vote. @param {string} id */
  isOlder(id, asked = 0) {
    return asked <= (this.own.get(id)?.at ?? -1);
  }
}
