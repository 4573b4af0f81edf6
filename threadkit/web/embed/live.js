// What others do, as they do it: over a WebSocket, else an event stream, else by asking now and then. Only while the
// page is looked at.

import { button } from "./dom.js";

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const HIDDEN_MS = 30_000;
const TYPING_EVERY_MS = 2500;
const TYPING_SHOWN_MS = 5000;
const REFUSALS = 2;

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
      this.say("subscribe", { page_id: app.thread.pageId, version: app.thread.version });
      this.#state("connected");
    });
    socket.addEventListener("message", (event) => this.#hear(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.#state("disconnected");
      if (event.code === 4404) return;
      this.#later();
      // Only where the rest gets through is it the sockets that do not.
      if (!isConnected) this.catchUp().then((isReached) => isReached && (this.failures += 1));
      // A session that ended is renewed, or given up, by the next call that needs it.
      if (event.code === 4401) app.api.get("/v1/users/me").catch(() => {});
    });
  }

  /** Where WebSockets do not get through. */
  #listen() {
    const { app } = this;
    const query = new URLSearchParams({ ...app.page, key: app.api.project, version: String(app.thread.version) });
    const stream = (this.stream = new EventSource(`${app.api.base}/v1/events?${query}`));
    stream.addEventListener("open", () => this.#state("connected"));
    for (const method of METHODS) stream.addEventListener(method, (event) => this.#hear(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    stream.addEventListener("error", () => {
      stream.close();
      if (this.stream !== stream) return;
      this.stream = undefined;
      this.failures += 1;
      this.#state("disconnected");
      this.#later();
    });
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
  #later(after = this.pause * (0.5 + Math.random())) {
    if (this.isClosed) return;
    this.pause = Math.min(LONGEST_PAUSE_MS, this.pause * 2);
    clearTimeout(this.again);
    this.again = setTimeout(() => this.#connect(), after);
  }

  say(/** @type {string} */ method, /** @type {any} */ params) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** Signed in, or somebody else now: a socket that has a name already is opened anew. */
  signedIn() {
    const token = this.app.api.session?.token;
    if (this.name && this.name !== token) {
      this.name = undefined;
      this.#hangUp();
      this.#connect();
    } else if (token && this.socket?.readyState === WebSocket.OPEN) {
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
  #hear({ method, params }) {
    if (params?.page_id && params.page_id !== this.app.thread.pageId) return;
    if (typeof params?.version === "number" && method !== "resync") this.app.thread.version = Math.max(this.app.thread.version, params.version);
    if (METHODS.includes(method)) /** @type {any} */ (this)[`on_${method}`](params);
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

  /** Only what changed since the version we have; all of it when that is too much. Says whether the server answered. */
  async catchUp() {
    const { app } = this;
    try {
      const changes = await app.api.get(`/v1/changes?${app.pageQuery}&since=${app.thread.version}`);
      if (changes.resync) await app.reload({ quietly: true, keepsReplies: true });
      if (changes.resync) return true;
      for (const id of changes.removed) this.on_delete_comment({ comment_id: id });
      for (const wire of changes.comments) this.#known(wire);
      app.thread.version = changes.version;
      app.thread.total = changes.total;
      app.summary();
      return true;
    } catch {
      return false; // the next look finds it
    }
  }

  #known(/** @type {any} */ wire) {
    const { app } = this;
    const comment = app.thread.comments.get(wire.i);
    if (!comment) return this.on_new_comment({ comment: wire });
    this.#count(comment, wire.u, wire.d);
    Object.assign(comment, { text: wire.t, html: wire.h, modified: wire.m, edited: wire.e === true || wire.m !== wire.x, status: wire.s ?? "approved" });
    app.refresh(wire.i);
  }

  on_new_comment(/** @type {any} */ { comment }) {
    const { app } = this;
    const known = app.thread.comments.get(comment.i);
    if (known) return known.status === "approved" ? undefined : this.#known(comment); // one's own that waited
    this.#forget(comment.a);
    const isMine = comment.a === app.api.user?.id;
    const where = app.thread.add(comment);
    if (where === null) return app.summary();
    if (isMine && [...app.thread.comments.values()].some((one) => one.sending)) return void app.thread.drop(comment.i); // its answer is on the way
    app.show(comment.i);
    if (isMine) return;
    app.views.get(comment.i)?.article.classList.add("fresh");
    this.unseen.add(comment.i);
    this.#banner();
    app.announce(app.words.say("new_by", { name: app.words.name(comment.n) }));
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

  on_delete_comment(/** @type {any} */ params) {
    const { app } = this;
    const parent = app.thread.comments.get(params.comment_id)?.parent;
    app.thread.remove(params.comment_id);
    app.refresh(params.comment_id);
    if (parent) app.refresh(parent);
    if (this.unseen.delete(params.comment_id)) this.#banner();
    app.summary();
  }

  on_author_gone(/** @type {any} */ params) {
    const comment = this.app.thread.comments.get(params.comment_id);
    if (comment) Object.assign(comment, { name: "[deleted]", avatar: null, karma: 0 });
    this.app.refresh(params.comment_id);
  }

  on_vote_update(/** @type {any} */ params) {
    const comment = this.app.thread.comments.get(params.comment_id);
    if (!comment) return;
    this.#count(comment, params.upvotes, params.downvotes);
    this.app.refresh(comment.id);
  }

  /** Not while one's own vote is on its way, whose answer says it too. @param {any} comment @param {number} up @param {number} down */
  #count(comment, up, down) {
    if (!this.app.thread.own.get(comment.id)?.clicks) Object.assign(comment, { up, down });
  }

  on_pin_update(/** @type {any} */ params) {
    const { pinned } = this.app.thread;
    params.pinned ? pinned.add(params.comment_id) : pinned.delete(params.comment_id);
    this.app.refresh(params.comment_id);
  }

  on_lock_update(/** @type {any} */ params) {
    this.app.thread.locked = params.locked;
    this.app.reload({ quietly: true });
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

const METHODS = [
  "presence", "viewers", "resync", "new_comment", "edit_comment", "delete_comment", "author_gone", "vote_update",
  "pin_update", "lock_update", "notification", "restart", "overloaded", "typing", "stop_typing", "user_left",
];
