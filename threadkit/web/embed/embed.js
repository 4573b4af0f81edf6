// The one line: <script async src="https://HOST/embed.js" data-project="tk_pub_…"></script>
//
// It asks for everything the first comments need at the same time, so that they show one round trip after this script,
// and leaves the rest to the modules.
(() => {
  "use strict";
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const base = new URL(".", script.src).href.replace(/\/$/, "");
  const assets = /** @type {Record<string, string>} */ (__ASSETS__);
  const address = (/** @type {string} */ name) => new URL(assets[name], script.src).href;
  const first = window.ThreadKit;

  /** @type {Map<string, Promise<Response>>} */
  const early = first?.early ?? new Map();
  const ask = (/** @type {string} */ url, /** @type {RequestInit} */ how, name = url) => {
    if (early.has(name)) return;
    const answer = fetch(url, how);
    answer.catch(() => {}); // whoever waits for it hears of it
    early.set(name, answer);
  };

  const languages = Object.keys(assets)
    .filter((name) => name.startsWith("locales/"))
    .map((name) => name.slice(8, -5));
  const pick = (/** @type {string[]} */ wanted) => {
    for (const tag of wanted) {
      const [short] = tag.toLowerCase().split("-");
      if (languages.includes(short)) return short;
    }
    return "en";
  };
  const language = (/** @type {string | null | undefined} */ asked) =>
    pick([...(asked ? [asked] : []), ...(document.documentElement.lang ? [document.documentElement.lang] : []), ...navigator.languages]);

  const canonical = () => {
    const link = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="canonical"][href]'));
    const url = new URL(link?.href || location.href);
    url.hash = "";
    return url.href;
  };
  const permalink = () => /^#comment-([0-9a-f-]{36})$/.exec(location.hash)?.[1] ?? null;

  /** What is read of a page's comments, the same for the early request and for the real one. */
  const question = (/** @type {Record<string, any>} */ options) => {
    const query = new URLSearchParams();
    if (options.pageId) query.set("page_id", options.pageId);
    query.set("page_url", options.url || canonical());
    query.set("sort", options.sort || "default");
    query.set("limit", String(options.limit ?? 25));
    const wanted = options.around ?? permalink();
    if (wanted) query.set("around", wanted);
    return `/v1/comments?${query}`;
  };

  let loaded = /** @type {Promise<any> | null} */ (null);
  const load = () =>
    (loaded ??= Promise.all(["app.js", "view.js", "thread.js", "api.js", "dom.js", "words.js"].map((name) => import(address(name)))).then(
      ([app]) => app,
    ));
  const prepare = (/** @type {Record<string, string | null | undefined>} */ options) => {
    const words = language(options.lang);
    ask(address("style.css"), {});
    ask(address(`locales/${words}.json`), {});
    if (options.project) {
      const token = tokenOf(options.project);
      for (const url of [base + question(options), `${base}/v1/site`])
        if (token) ask(url, { headers: { projectid: options.project, authorization: `Bearer ${token}` } }, url + token);
        // For headers of ours a browser would ask for permission first, which takes a round trip.
        else ask(`${url}${url.includes("?") ? "&" : "?"}key=${options.project}`, {}, url);
    }
    return load();
  };
  const tokenOf = (/** @type {string} */ project) => {
    try {
      return JSON.parse(localStorage.getItem(`threadkit:${project}`) ?? "{}").token ?? "";
    } catch {
      return "";
    }
  };

  const names = ["project", "page-id", "url", "title", "sort", "theme", "lang", "author", "loading", "mode", "sso"];
  const optionsOf = (/** @type {Element} */ element, prefix = "") =>
    Object.fromEntries(names.map((name) => [camel(name), element.getAttribute(prefix + name)]));
  const camel = (/** @type {string} */ name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  const whenSeen = (/** @type {Element} */ element, /** @type {() => void} */ then) => {
    const eye = new IntersectionObserver(
      (seen) => {
        if (seen.some((one) => one.isIntersecting)) begin();
      },
      { rootMargin: "400px" },
    );
    const begin = () => {
      eye.disconnect();
      removeEventListener("hashchange", look);
      then();
    };
    // What a link leads to is wanted now, wherever it is.
    const look = () => permalink() && begin();
    eye.observe(element);
    addEventListener("hashchange", look);
    look();
  };

  // count.js, or strings of the page's own, may have been here before.
  const kit = first?.mount
    ? first
    : Object.assign(first ?? {}, {
      base,
      early,
      address,
      language,
      canonical,
      permalink,
      question,
      whenSeen,
      strings: first?.strings ?? {},
      /** Put a thread into an element (or a selector); resolves with the <thread-kit> inside it. */
      async mount(/** @type {Element | string} */ target, /** @type {Record<string, any>} */ options = {}) {
        const place = typeof target === "string" ? document.querySelector(target) : target;
        if (!place) throw new Error(`ThreadKit: there is no ${target}`);
        const element = document.createElement("thread-kit");
        for (const name of names) {
          const value = options[camel(name)] ?? (name === "project" ? script.dataset.project : null);
          if (value != null) element.setAttribute(name, value);
        }
        place.append(element);
        attend(element);
        await load();
        return element;
      },
      /** Show another page, or change options, without building everything anew. */
      update(/** @type {Element} */ element, /** @type {Record<string, any>} */ options) {
        for (const name of names) {
          const value = options[camel(name)];
          if (value !== undefined) value === null ? element.removeAttribute(name) : element.setAttribute(name, value);
        }
      },
      destroy: (/** @type {Element} */ element) => element.remove(),
      /** Hear of what happens: "ready", "posted", "voted", "signin", "signout", "error". */
      on(/** @type {Element | Document} */ where, /** @type {string} */ event, /** @type {(detail: any) => void} */ then) {
        const hear = (/** @type {Event} */ told) => then(/** @type {CustomEvent} */ (told).detail);
        where.addEventListener(`threadkit:${event}`, hear);
        return () => where.removeEventListener(`threadkit:${event}`, hear);
      },
    });
  window.ThreadKit = kit;

  const begun = new WeakSet();
  const attend = (/** @type {Element} */ element) => {
    if (begun.has(element)) return;
    begun.add(element);
    const options = optionsOf(element);
    const begin = () => (options.mode === "iframe" ? load() : prepare(options));
    options.loading === "lazy" ? whenSeen(element, begin) : begin();
  };
  if (script.dataset.project) {
    const element = document.createElement("thread-kit");
    for (const name of names) {
      const value = script.getAttribute(`data-${name}`);
      if (value != null) element.setAttribute(name, value);
    }
    script.after(element);
  }
  const found = () => document.querySelectorAll("thread-kit").forEach(attend);
  found();
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", found);
})();
