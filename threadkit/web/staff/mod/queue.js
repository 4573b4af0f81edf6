// What waits for a decision.

import { empty } from "../ui.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  place.replaceChildren(empty(app.words.say("queue_empty")));
}
