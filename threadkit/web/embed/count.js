// How many comments pages have: <script async src="https://HOST/count.js" data-project="tk_pub_…"></script>
//
// Fills every [data-threadkit-count] of the page, with one request for up to a hundred pages.
(() => {
  "use strict";
  const MOST = 100;
  const LONGEST = 6000; // in characters: many proxies refuse addresses of more than eight thousand
  const script = /** @type {HTMLScriptElement | null} */ (
    document.currentScript ?? document.querySelector('script[src*="/count.js"][data-project]')
  );
  const project = script?.dataset.project;

  const canonical = () => {
    const link = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="canonical"][href]'));
    return link?.href || location.href;
  };
  /** Which page an element is about, as the server is asked for it. @returns {[string, string]} */
  const pageOf = (/** @type {HTMLElement} */ element) => {
    const own = element.dataset.threadkitPageId;
    if (own) return ["page_id", own];
    const url = new URL(element.dataset.threadkitCount || element.dataset.url || canonical(), document.baseURI);
    url.hash = "";
    return ["url", url.href];
  };
  const show = (/** @type {HTMLElement} */ element, /** @type {number} */ count) => {
    const template = (count === 1 && element.dataset.one) || element.dataset.many || "{n}";
    element.textContent = template.replaceAll("{n}", count.toLocaleString(document.documentElement.lang || undefined));
  };

  const fill = async (/** @type {[string, HTMLElement[]][]} */ batch) => {
    const query = new URLSearchParams(batch.map(([page]) => JSON.parse(page)));
    const answer = await fetch(new URL(`v1/counts?${query}`, script?.src), { headers: { projectid: project ?? "" } });
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    const { counts } = await answer.json();
    for (const [page, elements] of batch) {
      const count = counts[JSON.parse(page)[1]];
      if (typeof count === "number") for (const element of elements) show(element, count);
    }
  };

  const refresh = async () => {
    /** @type {Map<string, HTMLElement[]>} */
    const pages = new Map();
    for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-threadkit-count]"))) {
      try {
        const page = JSON.stringify(pageOf(element));
        pages.set(page, [...(pages.get(page) ?? []), element]);
      } catch {
        // An address that is none has no comments; the element keeps what it shows.
      }
    }
    /** @type {[string, HTMLElement[]][][]} */
    const batches = [];
    let length = LONGEST;
    for (const page of pages) {
      length += encodeURIComponent(page[0]).length;
      if (length > LONGEST || batches[0].length === MOST) {
        batches.unshift([]);
        length = encodeURIComponent(page[0]).length;
      }
      batches[0].push(page);
    }
    const done = await Promise.allSettled(batches.map(fill));
    for (const one of done) if (one.status === "rejected") console.warn("ThreadKit: no counts.", String(one.reason));
  };

  const kit = /** @type {any} */ (window);
  kit.ThreadKit = Object.assign(kit.ThreadKit ?? {}, { counts: { refresh } });
  if (!project) {
    console.warn("ThreadKit: count.js needs data-project.");
    return;
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void refresh());
  else void refresh();
})();
