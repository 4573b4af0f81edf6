// What a moderator finds here: the way to where their work is.

import { h } from "../ui.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export function show(app, place) {
  const { words } = app;
  place.append(
    h(
      "div",
      { class: "empty" },
      h("h1", null, words.say("elsewhere_title")),
      h("p", { class: "muted" }, words.say("elsewhere_text", { site: app.site.name })),
      h("a", { class: "button primary", href: "/mod" }, words.say("elsewhere_go")),
    ),
  );
}
