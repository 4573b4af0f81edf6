// A dialog over the thread.

import { h, icon } from "./dom.js";

/** A dialog that gives the focus back where it came from. @param {any} app @param {string} title @param {any[]} content @param {Record<string, any>} [props] */
export function dialog(app, title, content, props) {
  const before = app.shadowRoot.activeElement;
  const box = h(
    "dialog",
    { class: "dialog", part: "dialog", "aria-label": title, ...props },
    h(
      "div",
      { class: "dialog-head" },
      h("h3", null, title),
      h("button", { type: "button", class: "quiet round", "aria-label": app.words.say("close"), onclick: () => box.close() }, icon("close")),
    ),
    ...content,
  );
  box.addEventListener("close", () => {
    box.remove();
    before?.focus?.();
  });
  box.addEventListener("click", (/** @type {Event} */ event) => event.target === box && box.close());
  app.layer.append(box);
  box.showModal();
  return box;
}
