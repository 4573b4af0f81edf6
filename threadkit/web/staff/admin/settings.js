// Every setting of a site, in groups.

import { field, h } from "../ui.js";
import { head } from "./parts.js";
import { saveBar } from "./save_bar.js";
import { labelOf, settingField } from "./setting.js";
import { Draft, load } from "./site.js";

/** What has a view of its own is changed there. @type {Record<string, string>} */
const ELSEWHERE = { allowed_origins: "origins", "screening.words.hold": "words", "screening.words.refuse": "words" };

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  const { words } = app;
  const [site, schema] = await Promise.all([load(app), app.api.get("/v1/admin/sites/{site}/settings/schema")]);
  const draft = new Draft(app, site);
  /** @type {import("./setting.js").SettingField[]} */
  const fields = ownSettings(app).map((one) => settingField(app, draft, one));
  const groups = [group(app, "site", words.say("settings_site"), words.say("settings_site_text"), fields.map((one) => one.element))];
  for (const { id, title, explanation } of schema.groups) {
    const parts = [];
    let front = "";
    for (const setting of schema.settings.filter((/** @type {any} */ one) => one.group === id)) {
      const above = setting.name.split(".").slice(0, -1).join(".");
      if (above !== front && words.has(`part_${above}`)) parts.push(h("h3", null, words.say(`part_${above}`)));
      front = above;
      if (setting.name in ELSEWHERE) parts.push(pointer(app, setting));
      else {
        const made = settingField(app, draft, setting);
        fields.push(made);
        parts.push(made.element);
      }
    }
    groups.push(group(app, id, title, explanation, parts));
  }
  const atField = (/** @type {string} */ name, /** @type {string} */ text) => {
    const changed = fields.filter((one) => draft.changes.has(one.name));
    const meant = changed.find((one) => name === one.name || name.startsWith(`${one.name}[`)) ?? changed.find((one) => name && one.name.startsWith(`${name}.`));
    if (!meant) return false;
    meant.element.closest("details")?.setAttribute("open", "");
    meant.element.hidden = false;
    return meant.wrong(text);
  };
  place.append(head(app, "settings"), site.reranking_percent === undefined ? "" : h("p", { class: "notice warning" }, words.say("reranking", { percent: site.reranking_percent })), finder(app, groups), ...groups, saveBar(app, draft, atField));
  const wanted = groups.find((one) => one.dataset.group === rest[0]);
  for (const one of groups) one.open = wanted ? one === wanted : one === groups[0] || one === groups[1];
  wanted?.scrollIntoView();
}

/** @param {import("../shell.js").App} app @param {string} id @param {string} title @param {string} explanation @param {any[]} parts */
function group(app, id, title, explanation, parts) {
  return h("details", { class: "card group", "data-group": id }, h("summary", null, h("h2", null, title), h("p", { class: "muted" }, explanation)), h("form", { class: "settings", onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, parts));
}

/** The site's name and domain are no settings to the API; to people they are. @param {import("../shell.js").App} app */
function ownSettings(app) {
  const text = { type: "text", default: undefined, may_be_null: false, is_secret: false, choices: null };
  return [
    { ...text, name: "name", max_length: 100, explanation: app.words.say("settings_name_text") },
    { ...text, name: "domain", max_length: 253, explanation: app.words.say("settings_domain_text") },
  ];
}

/** @param {import("../shell.js").App} app @param {any} setting */
function pointer(app, setting) {
  const view = ELSEWHERE[setting.name];
  return h("div", { class: "setting", "data-setting": setting.name }, h("div", { class: "setting-head" }, h("span", { class: "label" }, labelOf(app, setting.name)), h("code", { class: "muted" }, setting.name)), h("p", { class: "hint" }, setting.explanation), h("p", null, h("a", { href: `#/${view}` }, app.words.say("changed_there", { view: app.words.say(`view_${view}`) }))));
}

/** Shows only what has the words in it. @param {import("../shell.js").App} app @param {HTMLElement[]} groups */
function finder(app, groups) {
  const sought = h("input", { type: "search", autocomplete: "off" });
  /** @type {boolean[] | null} */
  let wereOpen = null;
  sought.addEventListener("input", () => {
    const wanted = sought.value.trim().toLowerCase();
    wereOpen ??= groups.map((one) => one.hasAttribute("open"));
    let n = 0;
    groups.forEach((one, place) => {
      let found = 0;
      for (const setting of /** @type {NodeListOf<HTMLElement>} */ (one.querySelectorAll(".setting"))) {
        setting.hidden = !(setting.textContent ?? "").toLowerCase().includes(wanted);
        found += setting.hidden ? 0 : 1;
      }
      for (const title of /** @type {NodeListOf<HTMLElement>} */ (one.querySelectorAll("h3"))) title.hidden = wanted !== "";
      one.hidden = found === 0;
      one.toggleAttribute("open", wanted ? found > 0 : wereOpen?.[place]);
      n += found;
    });
    if (!wanted) wereOpen = null;
    app.announce(app.words.say("settings_found", { n }));
  });
  return field(app.words.say("settings_find"), sought);
}
