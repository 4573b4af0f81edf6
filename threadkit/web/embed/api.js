// Talking to the server: one session per site and browser, renewed when it must be, shared by all tabs.

/** An answer that says no, in words the server chose. */
export class Refused extends Error {
  /** @param {number} status @param {any} problem */
  constructor(status, problem) {
    super(problem?.detail ?? problem?.error ?? "");
    this.status = status;
    this.code = problem?.code ?? "";
    this.retryAfter = problem?.retry_after ?? null;
    this.problem = problem ?? {};
  }
}

/** No answer at all. */
export class Unreachable extends Error {}

const TRY_AGAIN_MS = [600, 2000];

export class Api extends EventTarget {
  /** @param {string} base @param {string} project @param {Map<string, Promise<Response>>} early */
  constructor(base, project, early) {
    super();
    this.base = base;
    this.project = project;
    this.early = early;
    this.slot = `threadkit:${project}`;
    this.session = this.stored();
    this.channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(`threadkit-auth-sync:${project}`) : null;
    this.channel?.addEventListener("message", () => this.#reload());
    addEventListener("storage", this.heard);
  }

  heard = (/** @type {StorageEvent} */ event) => {
    if (event.key === this.slot) this.#reload();
  };

  close() {
    this.channel?.close();
    removeEventListener("storage", this.heard);
  }

  get user() {
    return this.session?.user ?? null;
  }

  /** @param {any} session token, refresh_token and user; null to forget them */
  keep(session) {
    this.session = session;
    try {
      session ? localStorage.setItem(this.slot, JSON.stringify(session)) : localStorage.removeItem(this.slot);
    } catch {
      // Private windows may refuse; the session then lasts as long as the page.
    }
    this.channel?.postMessage("changed");
    this.dispatchEvent(new Event("session"));
  }

  stored() {
    try {
      return JSON.parse(localStorage.getItem(this.slot) ?? "null");
    } catch {
      return null;
    }
  }

  #reload() {
    const before = this.session?.token;
    this.session = this.stored();
    if (before !== this.session?.token) this.dispatchEvent(new Event("session"));
  }

  /** @param {string} path @param {any} [more] */
  get(path, more) {
    return this.call("GET", path, undefined, more);
  }

  /**
   * @param {string} method @param {string} path @param {any} [body]
   * @param {any} [more] headers, keepalive, signal, heed (hears the answer's headers)
   * @returns {Promise<any>}
   */
  async call(method, path, body, more) {
    const answer = await this.open(method, path, body, more);
    return answer.status === 204 || answer.headers.get("content-length") === "0" ? null : this.#json(answer);
  }

  /** @param {string} method @param {string} path @param {any} [body] @param {any} [more] */
  async open(method, path, body, more) {
    let answer = await this.#send(method, path, body, more);
    if (answer.status === 401 && this.session && (await (await import("./renewing.js")).renew(this))) answer = await this.#send(method, path, body, more);
    if (answer.ok) more?.heed?.(answer.headers);
    if (answer.ok) return answer;
    throw new Refused(answer.status, await this.#json(answer));
  }

  async #json(/** @type {Response} */ answer) {
    try {
      return await answer.json();
    } catch {
      return null;
    }
  }

  /** @param {string} method @param {string} path @param {any} body @param {any} more @returns {Promise<Response>} */
  async #send(method, path, body, more) {
    const url = this.base + path;
    const name = url + (this.session?.token ?? "");
    const early = method === "GET" ? this.early.get(name) : undefined;
    this.early.delete(name);
    /** @type {Record<string, string>} */
    const headers = { projectid: this.project, ...more?.headers };
    if (this.session) headers.authorization = `Bearer ${this.session.token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const how = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), keepalive: more?.keepalive, signal: more?.signal };
    for (let tries = 0; ; tries++) {
      try {
        const answer = await (early && tries === 0 ? early : this.fetch(url, how));
        // What only reads may be asked again; what writes is for people to decide.
        if (answer.status !== 503 || method !== "GET" || tries >= TRY_AGAIN_MS.length) return answer;
      } catch (error) {
        if (method !== "GET" || tries >= TRY_AGAIN_MS.length) throw new Unreachable(String(error));
      }
      await new Promise((then) => setTimeout(then, TRY_AGAIN_MS[tries]));
    }
  }

  /** @param {string} url @param {RequestInit} how */
  async fetch(url, how) {
    try {
      return await fetch(url, how);
    } catch (error) {
      throw new Unreachable(String(error));
    }
  }
}
