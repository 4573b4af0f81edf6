// The sites one owns.

import { h } from "../ui.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  place.replaceChildren(h("h1", null, app.words.say("view_sites")), h("ul", null, app.me.sites.map((/** @type {any} */ site) => h("li", null, `${site.name} · ${site.domain}`))));
}
