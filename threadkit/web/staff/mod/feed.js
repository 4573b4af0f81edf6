// What the other moderators do and what is new, as it happens: a stream while there is one, else by asking now and then.
// The numbers in the navigation come from here too.

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const COUNT_MS = 60_000;
const POLL_MS = 10_000;
const TOGETHER_MS = 400;
const KINDS = ["claimed", "released", "decided", "queued", "resync"];

/** @type {WeakMap<any, Feed>} */
const feeds = new WeakMap();

/** The one of this site. @param {import("../shell.js").App} app */
export function feedOf(app) {
  const known = feeds.get(app);
  if (known && !known.isOver) {
    known.count();
    return known;
  }
  known?.close();
  const feed = new Feed(app);
  feeds.set(app, feed);
  return feed;
}

/** Events: what the stream says, as `detail`; `resync` when something may have been missed; `state`; `counts`. */
export class Feed extends EventTarget {
  /** @param {import("../shell.js").App} app */
  constructor(app) {
    super();
    this.app = app;
    this.siteId = app.site.id;
    this.isClosed = false;
    this.isLive = false;
    this.hasFailed = false;
    this.pause = FIRST_PAUSE_MS;
    /** @type {any} */
    this.counts = null;
    addEventListener("online", this.online);
    this.#ask();
    this.#listen();
  }

  get isOver() {
    return this.isClosed || this.app.site?.id !== this.siteId;
  }

  close() {
    this.isClosed = true;
    removeEventListener("online", this.online);
    clearTimeout(this.asking);
    clearTimeout(this.soon);
    this.reader?.cancel().catch(() => {});
    this.wake?.();
  }

  online = () => {
    this.pause = FIRST_PAUSE_MS;
    this.wake?.();
  };

  /** The numbers, but not for each of many things that happen at once. */
  count() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.#ask(), TOGETHER_MS);
  }

  async #ask() {
    clearTimeout(this.asking);
    if (this.isOver) return this.close();
    try {
      const before = this.counts?.queue;
      this.counts = await this.app.api.get("/v1/moderation/counts");
      if (this.isOver) return;
      this.#badges();
      if (before !== undefined && before !== this.counts.queue) this.#tell("resync", {});
    } catch {
      // The next time will tell.
    }
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.#ask(), this.isLive ? COUNT_MS : POLL_MS);
  }

  #badges() {
    for (const id of ["queue", "reports", "appeals"]) this.app.badge(id, this.counts[id]);
    this.#tell("counts", this.counts);
  }

  async #listen() {
    while (!this.isOver) {
      try {
        const answer = await this.app.api.open("GET", "/v1/moderation/events", undefined, { accept: "text/event-stream" });
        if (answer.status === 401 || answer.status === 403) return this.close();
        if (answer.ok && answer.body) await this.#read(answer.body.getReader());
      } catch {
        // Lost, or never there: it is tried again.
      }
      this.hasFailed = true;
      this.#live(false);
      if (this.isOver) return this.close();
      await this.#rest();
    }
  }

  /** Not all at once: everybody who lost the same server comes back at another moment. */
  #rest() {
    const after = this.pause * (0.5 + Math.random());
    this.pause = Math.min(LONGEST_PAUSE_MS, this.pause * 2);
    return new Promise((done) => {
      this.wake = () => done(undefined);
      setTimeout(done, after);
    });
  }

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async #read(reader) {
    this.reader = reader;
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.isOver) break;
      const parts = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) this.#hear(part);
    }
    reader.cancel().catch(() => {});
  }

  #hear(/** @type {string} */ part) {
    const data = part.split("\n").find((line) => line.startsWith("data: "));
    if (!data) return;
    const { method, params } = JSON.parse(data.slice(6));
    if (method === "connected") this.#live(true);
    else if (method === "restart") this.pause = Math.max(FIRST_PAUSE_MS, params?.retry_after_ms ?? 0);
    else if (method === "overloaded") this.pause = (params?.every_s ?? 20) * 1000;
    else if (KINDS.includes(method)) {
      if (typeof params.queue === "number" && this.counts) {
        this.counts.queue = params.queue;
        this.#badges();
      }
      if (method !== "claimed" && method !== "released") this.count();
      this.#tell(method, params);
    }
  }

  #live(/** @type {boolean} */ isLive) {
    if (isLive) this.pause = FIRST_PAUSE_MS;
    if (isLive === this.isLive) return;
    this.isLive = isLive;
    this.#tell("state", { isLive });
    if (!isLive) return void (this.isOver || this.#ask());
    // What happened while nobody listened is found by looking.
    if (this.hasFailed) this.#tell("resync", {});
    else this.count();
  }

  #tell(/** @type {string} */ kind, /** @type {any} */ detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
