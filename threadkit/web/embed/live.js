// What others do, as they do it: over a WebSocket, else an event stream, else by asking now and then. Only while the
// page is looked at.

import { add, count, drop, remove } from "./changes.js";
import { button } from "./dom.js";
import { contentOf } from "./thread.js";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const HIDDEN_MS = 30_000;
const TYPING_EVERY_MS = 2500;
const TYPING_SHOWN_MS = 5000;
const REFUSALS = 2;
const OPEN = 1; // a socket
const MOST_NEWS = 100;

export class Live {
  /** @param {any} app */
  constructor(app) {
    this.app = app;
    this.failures = 0;
    this.pause = FIRST_PAUSE_MS;
    this.isClosed = false;
    /** @type {Set<string>} */
    this.unseen = new Set();
    /** @type {Map<string, {name: string, until: number}>} */
    this.writers = new Map();
    /** The page that is followed. */
    this.following = "";
    document.addEventListener("visibilitychange", this.looked);
    addEventListener("online", this.online);
    this.#connect();
  }

  close() {
    this.isClosed = true;
    document.removeEventListener("visibilitychange", this.looked);
    removeEventListener("online", this.online);
    clearTimeout(this.hiding);
    clearTimeout(this.again);
    clearTimeout(this.fading);
    clearTimeout(this.asking);
    this.#hangUp();
  }

  /** A tab that nobody looks at needs no connection. */
  looked = () => {
    clearTimeout(this.hiding);
    if (document.hidden) this.hiding = setTimeout(() => this.#hangUp(), HIDDEN_MS);
    else if (!this.isOpen) this.#connect();
  };

  online = () => {
    this.pause = FIRST_PAUSE_MS;
    if (!this.isOpen) this.#connect();
  };

  get isOpen() {
    return Boolean(this.socket ?? this.stream ?? this.polling);
  }

  #hangUp() {
    this.socket?.close();
    this.stream?.close();
    clearInterval(this.polling);
    this.socket = this.stream = this.polling = undefined;
    this.following = "";
    this.#state("disconnected");
  }

  #state(/** @type {"connected" | "disconnected"} */ state) {
    this.app.connection.textContent = this.app.words.say(state);
    // Nobody is told of a connection that they did not have yet.
    this.wasConnected ||= state === "connected";
    this.app.connection.classList.toggle("lost", this.wasConnected && state === "disconnected");
  }

  #connect() {
    clearTimeout(this.again);
    if (this.isClosed || document.hidden || this.isOpen) return;
    if (this.failures >= 2 * REFUSALS || !("WebSocket" in globalThis)) this.#poll(20);
    else if (this.failures >= REFUSALS) this.#listen();
    else this.#socket();
  }

  #socket() {
    const { app } = this;
    const url = `${app.api.base.replace(/^http/, "ws")}/ws?project_id=${app.api.project}`;
    const socket = (this.socket = new WebSocket(url));
    let isConnected = false;
    socket.addEventListener("open", () => {
      isConnected = true;
      this.failures = 0;
      this.pause = FIRST_PAUSE_MS;
      this.signedIn();
      this.#follow();
      this.#state("connected");
    });
    socket.addEventListener("message", (event) => this.#hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.#hangUp();
      if (event.code === 4404) return;
      this.#later();
      // Only where the rest gets through is it the sockets that do not.
      if (!isConnected) this.catchUp().then((isReached) => isReached && (this.failures += 1));
      // A session that ended is renewed, or given up, by the next call that needs it.
      if (event.code === 4401) app.api.get("/v1/users/me").catch(() => {});
    });
  }

  /** Follow the page that is shown, as soon as it is known which one that is. */
  #follow() {
    const { pageId, version } = this.app.thread;
    if (!pageId) return void this.catchUp();
    if (pageId === this.following) return;
    if (this.stream?.isOpen && this.following) {
      this.#hangUp();
      this.#connect();
    } else if (this.socket?.readyState === OPEN) {
      if (this.following) this.say("unsubscribe", { page_id: this.following });
      this.say("subscribe", { page_id: pageId, version });
      this.following = pageId;
    } else if (this.stream?.isOpen) this.following = pageId;
  }

  /** Where WebSockets do not get through. An EventSource could not say who is reading. */
  async #listen() {
    const { app } = this;
    const until = new AbortController();
    const stream = (this.stream = { close: () => until.abort(), isOpen: false });
    this.name = app.api.session?.token;
    try {
      const answer = await app.api.open("GET", `/v1/events?${app.thread.query}&version=${app.thread.version}`, undefined, { signal: until.signal });
      if (this.stream !== stream) return;
      stream.isOpen = true;
      this.#state("connected");
      this.#follow();
      let text = "";
      for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const events = (text + value).split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) {
          const data = /^data: (.*)$/m.exec(event)?.[1];
          if (data && this.stream === stream) this.#hear(JSON.parse(data));
        }
      }
    } catch {
      // It has ended, one way or the other.
    }
    if (this.stream !== stream) return;
    this.failures += 1;
    this.#hangUp();
    this.#later();
  }

  #poll(/** @type {number} */ seconds) {
    const ask = async () => {
      const isReached = await this.catchUp();
      if (!this.polling) return;
      this.#state(isReached ? "connected" : "disconnected");
      if (isReached) return;
      this.#hangUp();
      this.failures = 0;
      this.#later();
    };
    this.polling = setInterval(ask, seconds * 1000);
    ask();
  }

  /** Not all at once: everybody who lost the same server comes back at another moment. */
  #later() {
    if (this.isClosed) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => this.#connect(), this.#wait());
  }

  #wait() {
    const { pause } = this;
    this.pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
    return pause * (0.5 + Math.random());
  }

  say(/** @type {string} */ method, /** @type {any} */ params) {
    if (this.socket?.readyState === OPEN) this.socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** Signed in, or somebody else now: a socket that has a name already is opened anew. */
  signedIn() {
    const token = this.app.api.session?.token;
    if (this.stream ? this.name !== token : this.name && this.name !== token) {
      this.name = undefined;
      this.#hangUp();
      this.#connect();
    } else if (token && this.socket?.readyState === OPEN) {
      this.name = token;
      this.say("authenticate", { token });
    }
  }

  typing(/** @type {string | null} */ replyTo) {
    if (!this.app.api.session || Date.now() - (this.typedAt ?? 0) < TYPING_EVERY_MS) return;
    this.typedAt = Date.now();
    this.say("typing", { page_id: this.app.thread.pageId, reply_to: replyTo });
  }

  stopTyping() {
    this.typedAt = 0;
    this.say("stop_typing", { page_id: this.app.thread.pageId });
  }

  // --- Hearing -------------------------------------------------------------------------------------------------------

  /** @param {{method: string, params: any}} message */
  #hear(message) {
    const { app } = this;
    const { thread } = app;
    const { method, params } = message;
    if ((params?.page_id && params.page_id !== thread.pageId) || !METHODS.includes(method)) return;
    if (params?.version !== undefined) {
      if (params.version <= thread.version) return; // what is on the screen knew it already
      if (thread.news.push(message) > MOST_NEWS) thread.news.shift();
    }
    if (params?.total !== undefined) thread.total = params.total;
    /** @type {any} */ (this)[`on_${method}`](params);
    if (params?.total !== undefined) app.summary();
  }

  /** The thread has got an answer, which may be older than what was heard before it. */
  taken() {
    const { thread } = this.app;
    const { news } = thread;
    thread.news = [];
    for (const message of news) this.#hear(message);
    this.#follow();
    this.#seen([...this.unseen].filter((id) => !thread.comments.has(id)));
    if (thread.isBehind) this.catchUp();
    thread.isBehind = false;
  }

  /** Comments of one's own that were heard of while another was on its way, once none is. */
  echoed() {
    const { thread } = this.app;
    const { echoes } = thread;
    if (isSending(thread)) return;
    thread.echoes = new Map();
    for (const comment of echoes.values()) this.on_new_comment({ comment });
  }

  on_presence(/** @type {any} */ params) {
    this.#viewers(params.viewers);
  }

  on_viewers(/** @type {any} */ params) {
    this.#viewers(params.viewers ?? params.count);
  }

  #viewers(/** @type {number | undefined} */ count) {
    const { presence, words } = this.app;
    presence.hidden = !(count && count > 1);
    presence.textContent = count && count > 1 ? words.say("viewers", { n: count }) : "";
  }

  on_resync() {
    this.catchUp();
  }

  /** Only what changed since the version we have; all of it when that is too much. Says whether the server answered. @returns {Promise<boolean>} */
  catchUp() {
    // One after the other; who asks while one waits gets its answer.
    return (this.waiting ??= (this.catching ?? this.app.loading).then(() => {
      this.waiting = undefined;
      return (this.catching = this.#catchUp());
    }));
  }

  async #catchUp() {
    const { app } = this;
    if (this.isClosed) return false;
    clearTimeout(this.asking);
    await app.loading;
    const isReached = await this.#changes().catch(() => false);
    // Whoever asks now and then does so by itself.
    if (isReached) this.pause = FIRST_PAUSE_MS;
    else if (!this.polling && !this.isClosed) this.asking = setTimeout(() => this.isOpen && this.catchUp(), this.#wait());
    return isReached;
  }

  async #changes() {
    const { app } = this;
    const { thread } = app;
    const since = thread.version;
    if (!thread.pageId) return app.reload({ quietly: true });
    const changes = await app.ask(`/v1/changes?${thread.query}&since=${since}`);
    if (!changes || thread.version < since) return true; // another look is on its way
    if (changes.resync || changes.page_id !== thread.pageId) return app.reload({ quietly: true, keepsReplies: true });
    const pinned = changes.pinned.map((/** @type {any} */ pin) => pin[0]);
    const isOther = Boolean(changes.locked) !== thread.locked || String(pinned) !== String([...thread.pinned]);
    thread.pinned = new Set(pinned);
    thread.locked = Boolean(changes.locked);
    thread.version = changes.version;
    thread.total = changes.total;
    for (const id of changes.removed) this.#gone(id, drop);
    for (const wire of changes.comments) this.#changed(wire, changes.version);
    if (isOther) app.drawn = app.showAll();
    this.taken();
    app.summary();
    return true;
  }

  /** @param {any} wire a comment as it is @param {number} version as of which */
  #changed(wire, version) {
    const { app } = this;
    const { thread } = app;
    const comment = thread.comments.get(wire.i);
    // What is old and not here is among what is still to be read on.
    const hasMore = wire.q ? thread.comments.get(wire.q)?.more : thread.next;
    if (!comment) return hasMore && wire.x < thread.updated ? undefined : this.on_new_comment({ comment: wire });
    Object.assign(comment, contentOf(wire));
    count(thread, wire.i, wire.u, wire.d, version);
    app.refresh(wire.i);
  }

  on_new_comment(/** @type {any} */ { comment }) {
    const { app } = this;
    const { thread } = app;
    const known = thread.comments.get(comment.i);
    if (known && known.status !== "approved") this.#changed(comment, thread.version); // it waited, or is back
    if (known) return;
    this.#forget(comment.a);
    const isMine = comment.a === app.api.user?.id;
    if (isMine && isSending(thread)) return void thread.echoes.set(comment.i, comment); // perhaps its answer is on the way
    if (!add(thread, comment)) return;
    app.show(comment.i);
    if (isMine || comment.s === "deleted") return;
    app.views.get(comment.i)?.article.classList.add("fresh");
    this.unseen.add(comment.i);
    this.#banner();
    app.announce(app.words.say("new_by", { name: app.words.name(comment.n) }));
  }

  /** @param {string[]} ids */
  #seen(ids) {
    if (ids.filter((id) => this.unseen.delete(id)).length) this.#banner();
  }

  #banner() {
    const { app } = this;
    app.banner.hidden = !this.unseen.size;
    const jump = () => {
      const [first] = this.unseen;
      this.unseen.clear();
      this.#banner();
      app.goTo(first);
    };
    app.banner.replaceChildren(button(app.words.say("new_comments", { n: this.unseen.size }), jump, { class: "wide" }));
  }

  on_edit_comment(/** @type {any} */ params) {
    const comment = this.app.thread.comments.get(params.comment_id);
    if (!comment) return;
    Object.assign(comment, { text: params.content, html: params.content_html, edited: true, modified: Math.floor(Date.now() / 1000) });
    this.app.refresh(comment.id);
  }

  on_delete_comment(/** @type {any} */ { comment_id: id }) {
    const comment = this.app.thread.comments.get(id);
    this.#gone(id, remove);
    // Whether the replies that are not here are still there, the server knows.
    if (comment?.more && !comment.replies.length) this.catchUp();
  }

  #gone(/** @type {string} */ id, /** @type {(thread: any, id: string) => number} */ take) {
    const { app } = this;
    const { thread } = app;
    const touched = [...thread.path(id), ...thread.tree([id])];
    take(thread, id);
    for (const one of touched) app.refresh(one);
    this.#seen(touched.filter((one) => !thread.comments.has(one)));
  }

  on_author_gone(/** @type {any} */ params) {
    const comment = this.app.thread.comments.get(params.comment_id);
    if (comment) Object.assign(comment, { name: "[deleted]", avatar: null, karma: 0 });
    this.app.refresh(params.comment_id);
  }

  on_vote_update(/** @type {any} */ params) {
    count(this.app.thread, params.comment_id, params.upvotes, params.downvotes, params.version);
    this.app.refresh(params.comment_id);
  }

  on_pin_update(/** @type {any} */ params) {
    const { pinned } = this.app.thread;
    params.pinned ? pinned.add(params.comment_id) : pinned.delete(params.comment_id);
    this.app.refresh(params.comment_id);
  }

  on_lock_update(/** @type {any} */ params) {
    this.app.thread.locked = params.locked;
    this.app.drawn = this.app.showAll();
  }

  on_notification() {
    this.app.unread((this.app.unreadCount ?? 0) + 1);
    this.app.announce(this.app.words.say("notification_new"));
  }

  on_restart(/** @type {any} */ params) {
    this.pause = Math.max(FIRST_PAUSE_MS, params?.retry_after_ms ?? 0);
  }

  on_overloaded(/** @type {any} */ params) {
    this.#hangUp();
    this.#poll(params?.every_s ?? 20);
  }

  // --- Who is typing -------------------------------------------------------------------------------------------------

  on_typing(/** @type {any} */ params) {
    if (params.user?.id === this.app.api.user?.id) return;
    this.writers.set(params.user.id, { name: params.user.name, until: Date.now() + TYPING_SHOWN_MS });
    this.#writers();
  }

  on_stop_typing(/** @type {any} */ params) {
    this.#forget(params.user_id ?? params.user?.id);
  }

  on_user_left(/** @type {any} */ params) {
    this.#forget(params.user_id);
  }

  #forget(/** @type {string} */ id) {
    if (this.writers.delete(id)) this.#writers();
  }

  #writers() {
    const { app } = this;
    const now = Date.now();
    for (const [id, { until }] of this.writers) if (until <= now) this.writers.delete(id);
    const names = [...this.writers.values()].map(({ name }) => app.words.name(name));
    app.typing.textContent = !names.length ? "" : names.length === 1 ? app.words.say("typing_one", { name: names[0] }) : app.words.say("typing_many", { n: names.length });
    clearTimeout(this.fading);
    if (names.length) this.fading = setTimeout(() => this.#writers(), 1000);
  }
}

/** @param {import("./thread.js").Thread} thread */
function isSending(thread) {
  return [...thread.comments.values()].some((one) => one.sending);
}

const METHODS = [
  "presence", "viewers", "resync", "new_comment", "edit_comment", "delete_comment", "author_gone", "vote_update",
  "pin_update", "lock_update", "notification", "restart", "overloaded", "typing", "stop_typing", "user_left",
];
