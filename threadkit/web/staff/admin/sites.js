// The sites one runs on this server, and another one where the server lets owners make them.

import { Refused } from "../api.js";
import { copyable, dialog, field, form, h } from "../ui.js";
import { head, pill, snippet } from "./parts.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export function show(app, place) {
  const { words } = app;
  place.append(
    head(app, "sites", h("button", { type: "button", onclick: () => create(app) }, words.say("site_make"))),
    h(
      "ul",
      { class: "stack" },
      app.me.sites.map((/** @type {any} */ site) =>
        h(
          "li",
          { class: "card site-card" },
          h("div", { class: "row" }, h("h2", null, site.name), site.id === app.site.id ? pill("ok", words.say("site_chosen")) : null),
          h("p", { class: "muted" }, site.domain, " · ", words.say(`role_${site.role}`)),
          site.id === app.site.id ? null : h("div", { class: "row" }, h("button", { type: "button", onclick: () => app.choose(site), "aria-label": words.say("site_choose_what", { site: site.name }) }, words.say("site_choose"))),
        ),
      ),
    ),
  );
}

/** @param {import("../shell.js").App} app */
function create(app) {
  const { words } = app;
  const name = h("input", { name: "name", maxlength: "100", required: true, autocomplete: "off" });
  const domain = h("input", { name: "domain", maxlength: "253", required: true, placeholder: "blog.example.org", autocapitalize: "none", spellcheck: "false" });
  const box = dialog(app, words.say("site_make"), [
    form(app, [field(words.say("setting_name"), name), field(words.say("setting_domain"), domain, words.say("settings_domain_text"))], words.say("site_make"), async () => {
      let made;
      try {
        made = await app.api.call("POST", "/v1/admin/sites", { name: name.value, domain: domain.value });
      } catch (error) {
        if (error instanceof Refused && error.code === "sites_are_made_on_the_server") return onServer(app, box);
        throw error;
      }
      box.close();
      await app.renew(made.site.id);
      reveal(app, made);
    }),
  ]);
}

/** @param {import("../shell.js").App} app @param {any} box */
function onServer(app, box) {
  box.querySelector("form").replaceWith(h("div", { class: "stack" }, h("p", { role: "alert" }, app.words.say("site_on_server")), copyable(app, "threadkit site create NAME DOMAIN"), h("p", { class: "muted" }, app.words.say("site_on_server_setting"), " ", h("code", null, "owners_create_sites"))));
}

/** @param {import("../shell.js").App} app @param {any} made */
function reveal(app, made) {
  const { words } = app;
  dialog(app, words.say("site_made"), [
    h(
      "div",
      { class: "stack" },
      h("h3", null, words.say("snippet_title")),
      copyable(app, snippet(made.site), words.say("snippet_title")),
      h("h3", null, words.say("key_secret")),
      h("p", { class: "notice warning" }, words.say("key_once")),
      copyable(app, made.api_key_secret, words.say("key_secret")),
    ),
  ]);
}
