// People: looking for somebody, and the card of one.

import { empty, field, form, h } from "../ui.js";
import { feedOf } from "./feed.js";
import { listing } from "./listing.js";
import { person } from "./person.js";
import { link, path, query, read } from "./places.js";

const STANDINGS = ["", "banned", "shadowbanned"];

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  feedOf(app);
  const wanted = read(rest);
  if (wanted.id) return person(app, place, wanted.id);
  const { words } = app;
  const list = h("ul", { class: "people" });
  place.append(h("div", { class: "view-head" }, h("h1", null, words.say("view_people"))), search(app, wanted), list);
  const seen = new Set();
  await listing(
    app,
    list,
    async (cursor) => {
      const found = await app.api.get(`/v1/moderation/users?${query({ q: wanted.q, standing: wanted.standing, cursor })}`);
      const fresh = found.people.filter((/** @type {any} */ one) => !seen.has(one.user.id) && seen.add(one.user.id));
      return { nodes: fresh.map((/** @type {any} */ one) => row(app, one)), next: found.next, note: found.next && !fresh.length ? words.say("searched", { n: found.searched }) : undefined };
    },
    () => empty(words.say("people_none"), words.say("people_none_text")),
  );
}

/** @param {import("../shell.js").App} app @param {Record<string, string>} wanted */
function search(app, wanted) {
  const { words } = app;
  const name = h("input", { type: "search", value: wanted.q ?? "", maxlength: "320", autocomplete: "off" });
  const standing = h("select", null, STANDINGS.map((value) => h("option", { value, selected: (wanted.standing ?? "") === value }, words.say(`standing_${value || "any"}`))));
  const made = form(app, [h("div", { class: "search" }, field(words.say("search_name"), name), field(words.say("search_standing"), standing))], words.say("search"), async () => app.go(path("people", { q: name.value.trim(), standing: standing.value })));
  made.setAttribute("role", "search");
  return made;
}

/** @param {import("../shell.js").App} app @param {any} one */
function row(app, one) {
  const { words } = app;
  return h(
    "li",
    { class: "card person-row" },
    h("a", { class: "author", href: link("people", { id: one.user.id }) }, h("bdi", null, words.name(one.user.name))),
    h(
      "span",
      { class: "tags" },
      one.is_guest ? h("span", { class: "tag" }, words.say("badge_guest")) : null,
      one.role !== "user" && words.has(`role_${one.role}`) ? h("span", { class: "tag" }, words.say(`role_${one.role}`)) : null,
      one.is_banned ? h("span", { class: "tag status-rejected" }, words.say("badge_banned")) : null,
      one.is_shadowbanned ? h("span", { class: "tag status-pending" }, words.say("badge_shadowbanned")) : null,
      one.banned_everywhere ? h("span", { class: "tag status-rejected" }, words.say("badge_banned_everywhere")) : null,
    ),
    h("span", { class: "muted" }, words.say("record_comments", { n: one.comments })),
  );
}
