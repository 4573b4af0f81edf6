// A site's settings while somebody changes them: what they were, what they shall be, and what others did meanwhile.

import { Refused } from "../api.js";

/** @param {import("../shell.js").App} app */
export function load(app) {
  return app.api.get("/v1/admin/sites/{site}");
}

/** A tree of settings as one level of dotted names. Lists stay what they are. @param {any} tree @param {string} [front] @returns {Record<string, any>} */
function dotted(tree, front = "") {
  return Object.assign(
    {},
    ...Object.entries(tree).map(([name, value]) => (value !== null && typeof value === "object" && !Array.isArray(value) ? dotted(value, `${front}${name}.`) : { [front + name]: value })),
  );
}

/** @param {any} one @param {any} other */
export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Tells `change` when somebody changes something here, and `renew` when everything may be different. */
export class Draft extends EventTarget {
  /** @param {import("../shell.js").App} app @param {any} site as it was loaded */
  constructor(app, site) {
    super();
    this.app = app;
    /** @type {Map<string, any>} by dotted name, and the site's `name` and `domain` */
    this.changes = new Map();
    /** @type {Set<string>} what others changed while it was changed here */
    this.disputed = new Set();
    this.#base(site);
    app.unsaved = () => this.changes.size > 0;
  }

  /** @param {any} site */
  #base(site) {
    this.site = site;
    this.saved = { name: site.name, domain: site.domain, ...dotted(site.settings) };
  }

  /** @param {string} name */
  value(name) {
    return this.changes.has(name) ? this.changes.get(name) : this.saved[name];
  }

  /** @param {string} name @param {any} value */
  set(name, value) {
    // While it is being saved, what was is no longer what will be.
    if (!this.isSaving && same(value, this.saved[name])) this.changes.delete(name);
    else this.changes.set(name, value);
    this.dispatchEvent(new Event("change"));
  }

  discard() {
    this.changes.clear();
    this.disputed.clear();
    this.dispatchEvent(new Event("renew"));
  }

  /** Only on top of the version that is shown here; raises `Refused` with the code `site_changed` otherwise. What is changed meanwhile stays a change. */
  async save() {
    const sent = Object.fromEntries(this.changes);
    const { name, domain, ...settings } = sent;
    this.isSaving = true;
    try {
      this.#base(await this.app.api.call("PATCH", "/v1/admin/sites/{site}", { name, domain, settings, version: this.site.version }));
    } finally {
      this.isSaving = false;
    }
    const isRenamed = this.app.site.name !== this.site.name || this.app.site.domain !== this.site.domain;
    for (const [one, value] of this.changes) if (same(value, one in sent ? sent[one] : this.saved[one])) this.changes.delete(one);
    this.disputed.clear();
    this.dispatchEvent(new Event("renew"));
    if (isRenamed) await this.app.renew();
  }

  /** What is stored now, with what was changed here on top. */
  async rebase() {
    const before = this.saved;
    this.#base(await load(this.app));
    for (const [name, value] of this.changes) {
      if (!same(before[name], this.saved[name])) this.disputed.add(name);
      if (same(value, this.saved[name])) this.changes.delete(name);
    }
    this.dispatchEvent(new Event("renew"));
  }
}

/** @param {any} error */
export function isConflict(error) {
  return error instanceof Refused && error.code === "site_changed";
}
