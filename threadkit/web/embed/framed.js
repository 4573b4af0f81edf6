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
    if (event.source !== frame.contentWindow || event.origin !== origin || event.data?.type !== "threadkit:height") return;
    const pixels = Math.ceil(Number(event.data.height));
    if (pixels > 0) height(pixels);
  };
  addEventListener("message", hear);
  return {
    /** Theme and language change without loading it again. @param {string} name @param {string | null} value */
    set: (name, value) => frame.contentWindow?.postMessage({ type: "threadkit:set", [name]: value ?? (name === "theme" ? "auto" : kit.language(null)) }, origin),
    end() {
      removeEventListener("message", hear);
      root.replaceChildren();
    },
  };
}
