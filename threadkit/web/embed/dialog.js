// A dialog over the thread.

import { h, icon } from "./dom.js";

const CLOSE = "M6.4 5L5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z";

/** The focus goes back where it came from by itself, before the next key; `close` may come after it. @param {any} app @param {string} title @param {any[]} content @param {Record<string, any>} [props] */
export function dialog(app, title, content, props) {
  const box = h(
    "dialog",
    { class: "dialog", part: "dialog", "aria-label": title, ...props },
    h(
      "div",
      { class: "dialog-head" },
      h("h3", null, title),
      h("button", { type: "button", class: "quiet round", "aria-label": app.words.say("close"), onclick: () => box.close() }, icon(CLOSE)),
    ),
    ...content,
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (/** @type {Event} */ event) => event.target === box && box.close());
  app.layer.append(box);
  box.showModal();
  return box;
}
