// "I am on this one": said to the others after a moment, renewed while one looks, taken back when one goes on.

const DWELL_MS = 500;
const RENEW_MS = 40_000;

export class Claims {
  /** @param {import("../shell.js").App} app @param {(id: string, by: any) => void} onTaken somebody else has it */
  constructor(app, onTaken) {
    this.app = app;
    this.onTaken = onTaken;
    /** @type {string | null} */
    this.id = null;
    this.isMine = false;
    document.addEventListener("visibilitychange", this.looked);
    addEventListener("pagehide", this.left);
  }

  close() {
    document.removeEventListener("visibilitychange", this.looked);
    removeEventListener("pagehide", this.left);
    this.look(null);
  }

  /** Who looks elsewhere is not on it. */
  looked = () => {
    if (document.hidden) this.#release();
    else if (this.id) this.#soon(this.id);
  };

  left = () => this.#release();

  /** @param {string | null} id */
  look(id) {
    if (id === this.id) return;
    this.#release();
    this.id = id;
    if (id) this.#soon(id);
  }

  /** A decision ends a claim by itself. @param {string} id */
  decided(id) {
    if (id !== this.id) return;
    clearTimeout(this.timer);
    this.id = null;
    this.isMine = false;
  }

  #soon(/** @type {string} */ id, after = DWELL_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#claim(id), after);
  }

  async #claim(/** @type {string} */ id) {
    if (id !== this.id || document.hidden) return;
    try {
      await this.app.api.call("POST", `/v1/moderation/claim/${id}`);
      if (id !== this.id) return this.#give(id);
      this.isMine = true;
      this.#soon(id, RENEW_MS);
    } catch (/** @type {any} */ error) {
      if (error.code === "claimed_by_another") this.onTaken(id, error.problem.claimed_by);
    }
  }

  #release() {
    clearTimeout(this.timer);
    if (this.id && this.isMine) this.#give(this.id);
    this.isMine = false;
  }

  #give(/** @type {string} */ id) {
    if (this.app.site) this.app.api.call("DELETE", `/v1/moderation/claim/${id}`).catch(() => {});
  }
}
