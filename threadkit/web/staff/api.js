// Talking to the server as staff. The cookie says who sits here and is not readable by scripts; for each site it gets a
// token that lives in this page only. Everything else is the public API.

import { Refused, Unreachable } from "../embed/api.js";

export { Refused, Unreachable };

export class StaffApi extends EventTarget {
  /** @param {string} lang what the page speaks, so that the server answers in it too */
  constructor(lang) {
    super();
    this.lang = lang;
    /** @type {any} */
    this.site = null;
    /** @type {Map<string, Promise<string>>} */
    this.tokens = new Map();
  }

  /** Who is signed in here; null when nobody is. */
  async session() {
    try {
      return await this.staff("GET", "session");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return null;
      throw error;
    }
  }

  /** The pages' own routes. @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] */
  async staff(method, path, body, headers) {
    return this.#read(await this.#send(method, `/v1/staff/${path}`, body, { ...headers }));
  }

  /** @param {string} path */
  get(path) {
    return this.call("GET", path);
  }

  /**
   * The public API, for the site that is chosen or for another. `{site}` in a path is its id.
   * @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @param {any} [site]
   */
  async call(method, path, body, headers, site) {
    return this.#read(await this.open(method, path, body, headers, site));
  }

  /** The same, with what its headers say. @param {string} method @param {string} path @param {any} [body] @returns {Promise<{headers: Headers, body: any}>} */
  async answer(method, path, body) {
    const answer = await this.open(method, path, body);
    return { headers: answer.headers, body: await this.#read(answer) };
  }

  /** The same, but the answer itself: for streams and files. @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @param {any} [site] */
  async open(method, path, body, headers, site = this.site) {
    const where = path.replace("{site}", site.id);
    const ask = async () => this.#send(method, where, body, { ...headers, projectid: site.api_key_public, authorization: `Bearer ${await this.#token(site.id)}` });
    let answer = await ask();
    if (answer.status === 401) {
      this.tokens.delete(site.id);
      answer = await ask();
      if (answer.status === 401) this.dispatchEvent(new Event("signed-out"));
    }
    return answer;
  }

  forget() {
    this.tokens.clear();
  }

  /** @param {string} siteId */
  #token(siteId) {
    let token = this.tokens.get(siteId);
    if (!token) {
      token = this.staff("POST", "token", { site_id: siteId }).then((answer) => answer.token);
      token.catch((error) => {
        this.tokens.delete(siteId);
        if (error instanceof Refused && error.status === 401) this.dispatchEvent(new Event("signed-out"));
      });
      this.tokens.set(siteId, token);
    }
    return token;
  }

  /** @param {string} method @param {string} path @param {any} body @param {Record<string, string>} headers */
  async #send(method, path, body, headers) {
    headers["accept-language"] = this.lang;
    if (body !== undefined) headers["content-type"] = "application/json";
    try {
      return await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      throw new Unreachable(String(error));
    }
  }

  /** @param {Response} answer */
  async #read(answer) {
    const text = await answer.text();
    let body = null;
    try {
      body = text ? JSON.parse(text) : null;
    } catch {
      // Said by something in between, a proxy perhaps: the status has to do.
    }
    if (answer.ok) return body;
    throw new Refused(answer.status, body);
  }
}
