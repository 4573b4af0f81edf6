// The two word lists: what lets a comment wait, and what turns it away.

import { h } from "../ui.js";
import { card, head } from "./parts.js";
import { saveBar } from "./save_bar.js";
import { settingField } from "./setting.js";
import { Draft, load } from "./site.js";

const NAMES = ["screening.words.enabled", "screening.words.hold", "screening.words.refuse", "screening.words.names"];

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const [site, schema] = await Promise.all([load(app), app.api.get("/v1/admin/sites/{site}/settings/schema")]);
  const draft = new Draft(app, site);
  const fields = NAMES.map((name) => settingField(app, draft, schema.settings.find((/** @type {any} */ one) => one.name === name)));
  const atField = (/** @type {string} */ name, /** @type {string} */ text) => {
    // The server checks both lists together and names the entry, so the list that holds the entry is meant.
    const entry = /^['"](.+?)['"]:/.exec(text)?.[1];
    const meant = fields.find((one) => name.startsWith(one.name)) ?? fields.find((one) => entry !== undefined && Array.isArray(draft.value(one.name)) && draft.value(one.name).includes(entry));
    return meant?.wrong(text) ?? false;
  };
  place.append(
    head(app, "words"),
    card(words.say("words_lists"), fields.map((one) => one.element)),
    card(
      words.say("words_how"),
      h("dl", { class: "facts" }, ["casino", "free money", "casino*", "v*gra", "gambl~"].map((entry, place) => h("div", null, h("dt", null, h("code", null, entry)), h("dd", null, words.say(`words_how_${place + 1}`))))),
    ),
    saveBar(app, draft, atField),
  );
}
