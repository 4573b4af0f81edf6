// Who has to wait at this moment because of a limit.

import { empty, h } from "../ui.js";
import { card, count, doing, head, seconds, table } from "./parts.js";
import { server } from "./server.js";

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const body = h("div", { class: "stack wide" });
  const names = new Map(app.me.sites.map((/** @type {any} */ site) => [site.id, site.name]));
  const look = async () => {
    const { limited } = await server(app, "GET", "server/limits");
    body.replaceChildren(
      limited.length
        ? card(
            words.say("limits_now"),
            h("p", { class: "muted" }, words.say("limits_who")),
            table(
              words.say("limits_now"),
              [words.say("limits_what"), words.say("limits_whom"), words.say("site"), words.say("limits_used"), words.say("limits_until")],
              limited.map((/** @type {any} */ one) => [one.what, h("code", null, one.who), one.site_id ? (names.get(one.site_id) ?? one.site_id) : "–", words.say("limits_of", { used: count(app, one.used), limit: count(app, one.limit) }), words.date(seconds(one.until))]),
            ),
          )
        : empty(words.say("limits_none"), words.say("limits_none_text")),
    );
  };
  place.append(head(app, "limits", doing(app, words.say("look_again"), look)), body, h("p", null, h("a", { href: "#/settings/limits" }, words.say("limits_settings"))));
  await look();
}
