// Who may do what on the site, and giving a role to somebody by looking for them.

import { ask, empty, field, h, when } from "../ui.js";
import { card, doing, head, pill, seconds } from "./parts.js";

/** @type {Record<string, string>} */
const LISTS = { owner: "owners", admin: "admins", moderator: "moderators" };

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const staff = h("div", { class: "stack" });
  const draw = async () => {
    const found = await app.api.get("/v1/admin/sites/{site}/staff");
    staff.replaceChildren(...["owner", "admin", "moderator"].map((role) => holders(app, role, found.staff, draw)));
  };
  place.append(head(app, "people"), card(words.say("people_find"), finder(app, draw)), staff);
  await draw();
}

/** Owners decide about everybody; admins about moderators. @param {import("../shell.js").App} app */
function roles(app) {
  return app.may("owner") ? ["moderator", "admin", "owner"] : ["moderator"];
}

/** @param {import("../shell.js").App} app @param {string} role @param {any[]} staff @param {() => Promise<void>} draw */
function holders(app, role, staff, draw) {
  const { words } = app;
  const mine = staff.filter((one) => one.role === role);
  const isLast = role === "owner" && mine.length === 1;
  return card(
    words.say(`people_${role}s`),
    h("p", { class: "muted" }, words.say(`people_${role}_may`)),
    mine.length
      ? h(
          "ul",
          { class: "people" },
          mine.map((one) =>
            h(
              "li",
              { "data-user": one.user.id },
              who(app, one.user),
              h("span", { class: "muted" }, one.since ? [words.say("people_since"), " ", when(app, seconds(one.since))] : null),
              isLast ? h("span", { class: "muted" }, words.say("people_last_owner")) : roles(app).includes(role) ? doing(app, words.say("people_take"), () => take(app, one, draw), { "aria-label": words.say("people_take_from", { name: words.name(one.user.name) }) }) : null,
            ),
          ),
        )
      : h("p", { class: "muted" }, words.say("people_nobody")),
  );
}

/** @param {import("../shell.js").App} app @param {any} user */
function who(app, user) {
  const name = app.words.name(user.name);
  return h("span", { class: "person" }, h("span", { class: "initial", "aria-hidden": "true" }, [...name][0] ?? "?"), h("strong", null, name), user.id === app.me.user.id ? pill("unknown", app.words.say("you")) : null);
}

/** @param {import("../shell.js").App} app @param {any} one @param {() => Promise<void>} draw */
async function take(app, one, draw) {
  const { words } = app;
  const name = words.name(one.user.name);
  const isMe = one.user.id === app.me.user.id;
  const text = words.say(isMe ? "people_take_own" : "people_take_text", { name, role: words.say(`role_${one.role}`) });
  if (!(await ask(app, { title: words.say("people_take"), text, action: words.say("people_take") }))) return;
  await app.confirmed(() => app.api.call("DELETE", `/v1/admin/sites/{site}/${LISTS[one.role]}/${one.user.id}`));
  app.toast(words.say("people_taken", { name }));
  if (isMe) await app.renew();
  else await draw();
}

/** @param {import("../shell.js").App} app @param {() => Promise<void>} draw */
function finder(app, draw) {
  const { words } = app;
  const sought = h("input", { name: "q", type: "search", maxlength: "320", autocomplete: "off", required: true });
  const results = h("div", { class: "stack" });
  const look = async (/** @type {string | null} */ cursor) => {
    const query = new URLSearchParams({ q: sought.value.trim(), limit: "20", ...(cursor && { cursor }) });
    const found = await app.api.get(`/v1/moderation/users?${query}`);
    const people = found.people.filter((/** @type {any} */ person) => !person.is_guest);
    if (!cursor) results.replaceChildren();
    results.querySelector(".more")?.remove();
    if (people.length) results.append(h("ul", { class: "people" }, people.map((/** @type {any} */ person) => candidate(app, person, draw, () => look(null)))));
    else if (!found.next) results.append(empty(words.say("people_none"), words.say("people_none_text")));
    if (found.next) results.append(doing(app, words.say("people_further", { n: found.searched }), () => look(found.next), { class: "more" }));
    app.announce(words.say("people_found", { n: people.length }));
  };
  const search = h("form", { role: "search" }, field(words.say("people_search"), sought, words.say("people_search_hint")), h("div", { class: "row" }, h("button", null, words.say("search"))), results);
  search.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    look(null).catch((error) => app.toast(app.sentence(error)));
  });
  return search;
}

/** @param {import("../shell.js").App} app @param {any} person @param {() => Promise<void>} draw @param {() => Promise<void>} again */
function candidate(app, person, draw, again) {
  const { words } = app;
  const name = words.name(person.user.name);
  const give = async (/** @type {string} */ role) => {
    await app.confirmed(() => app.api.call("POST", `/v1/admin/sites/{site}/${LISTS[role]}`, { user_id: person.user.id }));
    app.toast(words.say("people_given", { name, role: words.say(`role_${role}`) }));
    await Promise.all([draw(), again()]);
  };
  const choices = roles(app).filter((role) => role !== person.role && (role !== "moderator" || person.role === "user"));
  const chosen = h("select", { "aria-label": words.say("people_role_for", { name }) }, choices.map((role) => h("option", { value: role }, words.say(`role_${role}`))));
  return h(
    "li",
    { "data-user": person.user.id },
    who(app, person.user),
    h("span", { class: "muted" }, words.say("people_comments", { n: person.comments })),
    person.is_banned || person.banned_everywhere ? pill("bad", words.say("people_banned")) : null,
    person.role in LISTS ? pill("ok", words.say(`role_${person.role}`)) : null,
    choices.length ? h("span", { class: "row" }, chosen, doing(app, words.say("people_give"), () => give(chosen.value))) : null,
  );
}
