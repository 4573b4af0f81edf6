// The ways in: what visitors are offered, what the server has set up for it, and whether it answers.

import { copyable, h } from "../ui.js";
import { card, doing, head, outcome, pill } from "./parts.js";
import { saveBar } from "./save_bar.js";
import { server } from "./server.js";
import { settingField } from "./setting.js";
import { Draft, load } from "./site.js";

const OWN = ["email", "password", "anonymous", "phone", "sso"];
const PROVIDERS = ["google", "github", "discord", "oidc"];
/** @type {Record<string, "ok" | "bad" | "warning">} */
const OUTCOMES = { answers: "ok", refused: "bad", unreachable: "bad", not_configured: "warning" };

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const [site, schema, known] = await Promise.all([
    load(app),
    app.api.get("/v1/admin/sites/{site}/settings/schema"),
    app.may("operator") ? server(app, "GET", "server/providers") : null,
  ]);
  const draft = new Draft(app, site);
  const offered = h("p", { role: "status" });
  const look = async () => {
    const { methods } = await app.api.get("/v1/site");
    offered.replaceChildren(methods.length ? words.say("ways_offered", { ways: new Intl.ListFormat(words.lang).format(methods.map((/** @type {any} */ one) => one.name)) }) : h("span", { class: "warn" }, words.say("ways_none")));
  };
  const way = (/** @type {string} */ name) => settingField(app, draft, schema.settings.find((/** @type {any} */ one) => one.name === `auth.${name}`)).element;
  draft.addEventListener("renew", () => look().catch((error) => app.toast(app.sentence(error))));
  place.append(
    head(app, "ways"),
    card(words.say("ways_now"), offered),
    card(words.say("ways_own"), OWN.map((name) => h("div", { class: "stack tight" }, way(name), hint(app, name)))),
    card(
      words.say("ways_elsewhere"),
      h("p", { class: "muted" }, words.say(known ? "ways_elsewhere_text" : "ways_ask_operator")),
      PROVIDERS.map((name) => h("div", { class: "provider" }, way(name), known ? provider(app, known.providers.find((/** @type {any} */ one) => one.name === name)) : null)),
    ),
    saveBar(app, draft),
  );
  await look();
}

/** @param {import("../shell.js").App} app @param {string} name */
function hint(app, name) {
  if (name === "sso") return h("p", null, h("a", { href: "#/keys" }, app.words.say("ways_sso_key")));
  if (name === "email" && app.may("operator")) return h("p", null, h("a", { href: "#/mail" }, app.words.say("ways_mail")));
  return null;
}

/** @param {import("../shell.js").App} app @param {any} found */
function provider(app, found) {
  const { words } = app;
  const { line, say } = outcome();
  const attempt = async () => {
    say("", words.say("testing"));
    const told = await server(app, "POST", `server/providers/${found.name}/test`).catch((error) => {
      say("", "");
      throw error;
    });
    say(OUTCOMES[told.outcome], told.sentence);
  };
  return h(
    "div",
    { class: "stack tight indented" },
    h("p", null, found.is_configured ? pill("ok", words.say("ways_set_up")) : pill("unknown", words.say("ways_not_set_up"))),
    h("p", { class: "hint" }, words.say("ways_redirect")),
    copyable(app, found.redirect_uri, words.say("ways_redirect_of", { name: words.say(`setting_auth.${found.name}`) })),
    h("div", { class: "row" }, doing(app, words.say("test"), attempt, { "aria-label": words.say("test_what", { what: words.say(`setting_auth.${found.name}`) }) }), line),
  );
}
