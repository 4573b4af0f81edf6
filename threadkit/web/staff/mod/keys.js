// Letters that do something while nobody writes.

import { dialog, h } from "../ui.js";

const SHOWN = ["j", "k", "a", "r", "s", "d", "u", "x", "o", "?"];

/** @param {Record<string, (event: KeyboardEvent) => any>} deeds by key @returns {() => void} what ends it */
export function listen(deeds) {
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const focused = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || (event.repeat && !"jk".includes(event.key))) return;
    if (document.querySelector("dialog[open]") || focused.closest?.("textarea, select, input:not([type=checkbox]), [contenteditable]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const deed = Object.hasOwn(deeds, key) ? deeds[key] : null;
    // Enter and the like belong to whatever has the focus.
    if (!deed || (key === "Enter" && !focused.matches("article"))) return;
    event.preventDefault();
    deed(event);
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

/** @param {import("../shell.js").App} app */
export function help(app) {
  const { words } = app;
  const rows = SHOWN.map((key) => h("div", null, h("dt", null, h("kbd", null, key), key === "o" ? [" ", h("kbd", null, "Enter")] : null), h("dd", null, words.say(`key_${key === "?" ? "help" : key}`))));
  dialog(app, words.say("keys_title"), [h("dl", { class: "keys" }, rows), h("p", { class: "muted" }, words.say("keys_text"))]);
}
