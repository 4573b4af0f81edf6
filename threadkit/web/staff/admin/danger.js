// What cannot be taken back, or stops a whole site: each asks before it acts.

import { ask, dialog, h } from "../ui.js";
import { card, doing, head, pill } from "./parts.js";

const LOOK_MS = 1500;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  place.append(head(app, "danger"), await posting(app), everywhere(app), app.may("owner") ? deletion(app) : "");
}

/** @param {import("../shell.js").App} app */
async function posting(app) {
  const { words } = app;
  const path = "/v1/admin/sites/{site}/posting";
  const part = h("div", { class: "stack" });
  const draw = (/** @type {boolean} */ isOff) => {
    part.replaceChildren(
      h("p", null, isOff ? pill("bad", words.say("posting_off")) : pill("ok", words.say("posting_on"))),
      doing(
        app,
        words.say(isOff ? "posting_switch_on" : "posting_switch_off"),
        async () => {
          if (!isOff && !(await ask(app, { title: words.say("posting_switch_off"), text: words.say("posting_ask", { site: app.site.name }), action: words.say("posting_switch_off") }))) return;
          draw((await app.api.call("PUT", path, { disabled: !isOff })).disabled);
          app.toast(words.say(isOff ? "posting_is_on" : "posting_is_off"));
          part.querySelector("button")?.focus();
        },
        { class: isOff ? "primary" : "danger" },
      ),
    );
  };
  draw((await app.api.get(path)).disabled);
  return card(words.say("posting"), h("p", { class: "muted" }, words.say("posting_text")), part);
}

/** @param {import("../shell.js").App} app */
function everywhere(app) {
  const { words } = app;
  const leave = async () => {
    if (!(await ask(app, { title: words.say("everywhere"), text: words.say("everywhere_ask"), action: words.say("everywhere") }))) return;
    await app.api.call("DELETE", "/v1/users/me/sessions");
    await app.signOut();
  };
  return card(words.say("everywhere"), h("p", { class: "muted" }, words.say("everywhere_text")), h("div", { class: "row" }, doing(app, words.say("everywhere"), leave, { class: "danger" })));
}

/** @param {import("../shell.js").App} app */
function deletion(app) {
  const { words, site } = app;
  const go = async () => {
    const typed = site.domain;
    if (!(await ask(app, { title: words.say("delete_site"), text: words.say("delete_ask", { site: site.name }), action: words.say("delete_site"), typed }))) return;
    const begun = await app.confirmed(() => app.api.call("DELETE", "/v1/admin/sites/{site}", { confirm: typed }));
    progress(app, site, begun);
  };
  return card(words.say("delete_site"), h("p", { class: "muted" }, words.say("delete_text", { site: site.name })), h("div", { class: "row" }, doing(app, words.say("delete_site"), go, { class: "danger" })));
}

/** The site's keys are dead by now; how far the rest is, anybody may ask who knows the id. @param {import("../shell.js").App} app @param {any} site @param {any} begun */
function progress(app, site, begun) {
  const { words } = app;
  const bar = h("progress", { max: "100", value: begun.percent, "aria-label": words.say("delete_progress") });
  const told = h("p", { role: "status" }, words.say("delete_running", { site: site.name }));
  const box = dialog(app, words.say("delete_progress"), [h("div", { class: "stack" }, told, bar, h("p", { class: "muted" }, words.say("delete_close")))]);
  let isOpen = true;
  const look = async () => {
    while (isOpen) {
      await new Promise((done) => setTimeout(done, LOOK_MS));
      const answer = await fetch(`/v1/deletions/${begun.id}`).catch(() => null);
      if (!answer?.ok) continue;
      const found = await answer.json();
      bar.value = found.percent;
      if (found.state !== "done") continue;
      bar.value = 100;
      told.textContent = words.say("delete_done", { site: site.name, n: found.removed });
      return;
    }
  };
  box.addEventListener("close", () => {
    isOpen = false;
    history.replaceState(null, "", "#/overview"); // without going there as the site that is gone
    app.renew().catch((error) => app.toast(app.sentence(error)));
  });
  look();
}
