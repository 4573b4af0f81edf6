// A frame of our own origin, for pages that want nothing of ours in theirs.

import { h } from "./dom.js";

const FIRST_HEIGHT_PX = 320;
const GIVEN = ["project", "page-id", "url", "title", "sort", "theme", "lang", "author"];

/** @param {any} app @param {any} kit */
export function framed(app, kit) {
  const query = new URLSearchParams();
  for (const name of GIVEN) {
    const value = app.getAttribute(name) ?? (name === "url" ? kit.canonical() : null);
    if (value) query.set(name, value);
  }
  const frame = h("iframe", { src: `${kit.base}/embed/frame?${query}${location.hash}`, title: "Comments", part: "frame" });
  const sheet = new CSSStyleSheet();
  const height = (/** @type {number} */ pixels) => sheet.replaceSync(`:host{display:block}iframe{border:0;inline-size:100%;block-size:${pixels}px;display:block}`);
  height(FIRST_HEIGHT_PX);
  const root = app.shadowRoot ?? app.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  root.replaceChildren(frame);
  const origin = new URL(kit.base).origin;
  const hear = (/** @type {MessageEvent} */ event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    const { type, top } = event.data ?? {};
    const pixels = Math.ceil(Number(event.data?.height));
    if (type === "threadkit:height" && pixels > 0) height(pixels);
    // The frame is as high as its content, so it is the page that scrolls to a comment.
    if (type === "threadkit:shown" && Number.isFinite(top)) scrollBy(0, frame.getBoundingClientRect().top + top + pixels / 2 - innerHeight / 2);
  };
  const say = (/** @type {any} */ message) => frame.contentWindow?.postMessage(message, origin);
  const hashed = () => kit.permalink() && say({ type: "threadkit:goto", id: kit.permalink() });
  addEventListener("message", hear);
  addEventListener("hashchange", hashed);
  return {
    /** Theme and language change without loading it again. @param {string} name @param {string | null} value */
    set: (name, value) => say({ type: "threadkit:set", [name]: value ?? (name === "theme" ? "auto" : kit.language(null)) }),
    end() {
      removeEventListener("message", hear);
      removeEventListener("hashchange", hashed);
      root.replaceChildren();
    },
  };
}
