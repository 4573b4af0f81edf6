// What a view is asked for stands in the address, so that going back, reloading and sending a link work:
// `#/queue/author=…/reported=true`.

/** @param {string[]} rest @returns {Record<string, string>} */
export function read(rest) {
  const facts = /** @type {Record<string, string>} */ ({});
  for (const part of rest) {
    const at = part.indexOf("=");
    if (at > 0) facts[part.slice(0, at)] = part.slice(at + 1);
  }
  return facts;
}

/** @param {string} view @param {Record<string, string | null | undefined>} facts */
export function path(view, facts = {}) {
  const parts = Object.entries(facts).filter(([, value]) => value);
  return [view, ...parts.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)].join("/");
}

/** @param {string} view @param {Record<string, string | null | undefined>} [facts] */
export function link(view, facts) {
  return `#/${path(view, facts)}`;
}

/** For the API: what is empty is left out. @param {Record<string, any>} facts */
export function query(facts) {
  const given = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}
