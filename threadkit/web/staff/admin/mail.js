// Mail: whether it is set up, and one to oneself to see it arrive.

import { h } from "../ui.js";
import { card, doing, head, outcome, pill } from "./parts.js";
import { server } from "./server.js";

/** @type {Record<string, "ok" | "bad" | "warning">} */
const OUTCOMES = { sent: "ok", refused: "bad", unreachable: "bad", not_configured: "warning" };

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const { checks } = await server(app, "GET", "doctor");
  const check = checks.find((/** @type {any} */ one) => one.id === "mail");
  const { line, say } = outcome();
  const attempt = async () => {
    say("", words.say("testing"));
    const told = await server(app, "POST", "server/mail/test", {}).catch((error) => {
      say("", "");
      throw error;
    });
    say(OUTCOMES[told.outcome], told.sentence);
  };
  place.append(
    head(app, "mail"),
    check ? card(words.say("mail_state"), h("p", null, pill(check.state, words.say(`state_${check.state}`)), " ", check.found), check.fix && check.state !== "ok" ? h("p", { class: "fix" }, h("strong", null, words.say("fix")), " ", check.fix) : null) : "",
    card(
      words.say("mail_test"),
      h("p", { class: "muted" }, app.me.user.email ? words.say("mail_test_text", { to: app.me.user.email }) : words.say("mail_no_address")),
      h("div", { class: "row" }, doing(app, words.say("mail_send"), attempt, { class: "primary" })),
      line,
    ),
    card(words.say("mail_set_up"), h("p", null, words.say("mail_set_up_text")), h("pre", { class: "sample", tabindex: "0", "aria-label": words.say("mail_set_up") }, h("code", null, SAMPLE))),
  );
}

const SAMPLE = `[mail]
host = "smtp.example.org"
port = 587
security = "starttls"
username = "comments@example.org"
password = "…"
sender = "My blog <comments@example.org>"`;
