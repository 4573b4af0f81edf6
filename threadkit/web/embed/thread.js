// The thread as this browser knows it: comments by id, and their order. What changes them later is in changes.js. No DOM here.

/** @typedef {import("./comment").Comment} Comment */

export const DELETED = "deleted";
export const NOBODY = "d0000000-0000-0000-0000-000000000000";

export class Thread {
  /** @param {Record<string, string>} [page] how it is named in every call about it */
  constructor(page = {}) {
    this.page = page;
    /** @type {Map<string, Comment>} */
    this.comments = new Map();
    /** @type {string[]} */
    this.roots = [];
    this.total = 0;
    this.pageId = "";
    this.version = 0;
    this.locked = false;
    this.sort = "";
    /** @type {string | null} */
    this.next = null;
    /** @type {Set<string>} */
    this.pinned = new Set();
    /** How often all of it was loaded. */
    this.taken = 0;
    /** @type {any[]} what was heard since `version` */
    this.news = [];
    /** @type {Map<string, any>} own comments that were heard of before the answer to them */
    this.echoes = new Map();
    /** @type {Record<string, any>} one's own votes, as the server has them */
    this.mine = {};
    /** Clicks on votes, and answers to them. */
    this.casts = 0;
    /** @type {Map<string, {clicks: number, up: number, down: number, version: number}>} by comment: clicks without an answer, and what the server said last */
    this.pending = new Map();
  }

  get query() {
    return new URLSearchParams(this.page).toString();
  }

  /** Take an answer of `GET /v1/comments`: more of it, or all anew, and then what is kept of what was there before. @param {any} answer @param {{isMore?: boolean, sort?: string, then?: (thread: Thread, before: Map<string, Comment>) => void}} how */
  take(answer, how) {
    const before = this.comments;
    const { isMore } = how;
    const { version = 0 } = answer;
    if (!isMore) {
      this.comments = new Map();
      this.roots = [];
      this.taken += 1;
      this.sort = how.sort ?? "";
      this.total = answer.total;
      this.updated = answer.tree.u;
      this.pinned = new Set((answer.pinned ?? []).map((/** @type {any} */ pin) => pin[0]));
      this.locked = answer.locked ?? false;
    }
    // What changed between the oldest answer on the screen and now is still to be asked for.
    this.isBehind = answer.page_id === this.pageId && version < this.version;
    if (!isMore || this.isBehind) this.version = version;
    this.pageId = answer.page_id;
    this.next = answer.next ?? null;
    const added = answer.tree.c.filter((/** @type {any} */ one) => !this.comments.has(one.i));
    for (const one of added) this.roots.push(this.keep(one, null, version, before));
    how.then?.(this, before);
    return added.map((/** @type {any} */ one) => one.i);
  }

  /** Keep what the server said as of a version. @param {any} wire @param {string | null} parent @param {number} [version] @param {Map<string, Comment>} [before] @returns {string} */
  keep(wire, parent, version = this.version, before = this.comments) {
    const id = wire.i;
    const old = before.get(id);
    /** @type {Comment} */
    const comment = { ...contentOf(wire), up: wire.u, down: wire.d, parent, replies: [], more: 0, cursor: wire.rn ?? null, vote: this.mine[id] ?? null };
    const pending = this.pending.get(id);
    if (pending && version >= pending.version) Object.assign(pending, { up: wire.u, down: wire.d, version });
    if (pending) Object.assign(comment, votesOf((pending.clicks && old) || { ...comment, ...pending }));
    if (pending?.version === version && !pending.clicks) this.pending.delete(id);
    this.comments.set(id, comment);
    comment.replies = (wire.r ?? []).map((/** @type {any} */ reply) => this.keep(reply, id, version, before));
    if (wire.rc !== undefined) comment.more = Math.max(0, wire.rc - comment.replies.length);
    return id;
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
}

/** What a comment says, and who says it. @param {any} wire */
export function contentOf(wire) {
  return {
    id: wire.i,
    author: wire.a,
    name: wire.n,
    avatar: wire.p,
    karma: wire.k,
    text: wire.t,
    html: wire.h,
    created: wire.x,
    modified: wire.m,
    edited: wire.e === true || wire.m !== wire.x,
    status: wire.s ?? "approved",
    answers: wire.q ?? null,
  };
}

/** @param {Pick<Comment, "up" | "down" | "vote">} comment */
export const votesOf = ({ up, down, vote }) => ({ up, down, vote });
