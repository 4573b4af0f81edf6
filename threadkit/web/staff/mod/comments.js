// All comments, whatever became of them: by text, author, page and status.

import { button, empty, field, form, h } from "../ui.js";
import { CommentCard } from "./card.js";
import { buttons } from "./deciding.js";
import { feedOf } from "./feed.js";
import { listing } from "./listing.js";
import { path, query, read } from "./places.js";

const STATUSES = ["", "pending", "approved", "rejected", "deleted"];
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const FOLLOWS = /** @type {Record<string, string[]>} */ ({
  pending: ["approve", "reject", "spam", "delete"],
  approved: ["reject", "spam", "delete"],
  rejected: ["approve", "delete"],
  deleted: [],
});

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {string[]} rest */
export async function show(app, place, rest) {
  const { words } = app;
  const feed = feedOf(app);
  const wanted = read(rest);
  const list = h("div", { class: "cards" });
  const who = h("div", { class: "row", role: "status" });
  place.append(h("div", { class: "view-head" }, h("h1", null, words.say("view_comments"))), search(app, wanted, who), who, list);
  const limit = 30;
  const asked = { q: wanted.q, status: wanted.status, author: wanted.author, page_url: wanted.page };
  await listing(
    app,
    list,
    async (cursor) => {
      const isSearch = Boolean(query(asked));
      const more = cursor === null ? {} : isSearch ? { cursor } : { offset: cursor };
      const found = await app.api.get(`/v1/admin/sites/{site}/comments?${query({ ...asked, ...more, limit })}`);
      const next = isSearch ? found.next : found.has_more ? (cursor ?? 0) + limit : null;
      const note = isSearch && next && found.comments.length < limit ? words.say("searched", { n: found.searched }) : undefined;
      return { nodes: found.comments.map((/** @type {any} */ item) => commentCard(app, item, () => feed.count()).element), next, note };
    },
    () => empty(words.say("comments_none"), words.say("comments_none_text")),
  );
}

/** A card whose buttons follow what becomes of it. @param {import("../shell.js").App} app @param {any} item @param {() => void} [told] */
export function commentCard(app, item, told) {
  const becomes = /** @type {Record<string, string>} */ ({ approve: "approved", reject: "rejected", spam: "rejected", delete: "deleted" });
  /** @type {CommentCard | undefined} */
  let card = undefined;
  const actions = () => {
    if (!card) return [];
    const made = card;
    const before = made.item;
    return buttons(app, made, FOLLOWS[made.status] ?? [], (action) => {
      made.update(action ? { ...before, status: becomes[action] } : before);
      if (made.element.isConnected) made.element.focus();
      told?.();
    });
  };
  card = new CommentCard(app, item, { showsStatus: true, actions });
  card.actions();
  return card;
}

/** @param {import("../shell.js").App} app @param {Record<string, string>} wanted @param {HTMLElement} who */
function search(app, wanted, who) {
  const { words } = app;
  const text = h("input", { type: "search", value: wanted.q ?? "", minlength: "2", maxlength: "100" });
  const author = h("input", { type: "search", value: wanted.name ?? wanted.author ?? "", maxlength: "320", autocomplete: "off" });
  const page = h("input", { type: "url", value: wanted.page ?? "", maxlength: "2000", placeholder: "https://…" });
  const status = h("select", null, STATUSES.map((value) => h("option", { value, selected: (wanted.status ?? "") === value }, words.say(`status_${value || "any"}`))));
  const go = (/** @type {Record<string, string>} */ chosen) => app.go(path("comments", { q: text.value.trim(), page: page.value.trim(), status: status.value, ...chosen }));
  const made = form(
    app,
    [h("div", { class: "search" }, field(words.say("search_text"), text), field(words.say("search_author"), author), field(words.say("search_page"), page), field(words.say("search_status"), status))],
    words.say("search"),
    async () => {
      const name = author.value.trim();
      if (!name) return go({});
      if (ID.test(name)) return go({ author: name });
      if (name === wanted.name) return go({ author: wanted.author, name });
      const { people } = await app.api.get(`/v1/moderation/users?${query({ q: name, limit: 10 })}`);
      const exact = people.filter((/** @type {any} */ one) => words.name(one.user.name).toLowerCase() === name.toLowerCase());
      const chosen = exact.length === 1 ? exact : people;
      if (chosen.length === 1) return go({ author: chosen[0].user.id, name: words.name(chosen[0].user.name) });
      who.replaceChildren(
        h("span", null, words.say(chosen.length ? "which_author" : "no_author")),
        ...chosen.map((/** @type {any} */ one) => button(words.name(one.user.name), () => go({ author: one.user.id, name: words.name(one.user.name) }))),
      );
    },
  );
  made.setAttribute("role", "search");
  return made;
}
