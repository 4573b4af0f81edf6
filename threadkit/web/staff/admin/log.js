// The moderation log: who did what, with a filter, and as a file.

import { empty, field, h, when } from "../ui.js";
import { doing, head } from "./parts.js";

const PAGE = 50;
const MOST_AT_ONCE = 200;
const MOST_ROUNDS = 5;

/** What belongs together, by how an action begins. @type {Record<string, RegExp>} */
const KINDS = {
  comments: /^(undo_)?(approve|reject|spam|hide|delete$|dismiss|appeal|pin|unpin|delete_comments)/,
  people: /^(undo_)?(un)?(ban|shadow)/,
  site: /^(undo_)?(role|site_settings|rotate|(un)?lock_page)/,
};

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const kind = h("select", null, h("option", { value: "" }, words.say("log_all")), Object.keys(KINDS).map((one) => h("option", { value: one }, words.say(`log_kind_${one}`))));
  const list = h("ol", { class: "log" });
  const foot = h("div", { class: "stack" });
  let before = "";
  const load = async () => {
    const wanted = KINDS[kind.value];
    let found = 0;
    let hasMore = true;
    for (let round = 0; round < MOST_ROUNDS && hasMore && found < PAGE; round += 1) {
      const answer = await app.api.get(`/v1/moderation/log?limit=${wanted ? MOST_AT_ONCE : PAGE}${before && `&before=${before}`}`);
      const entries = answer.entries.filter((/** @type {any} */ entry) => !wanted || wanted.test(entry.action));
      list.append(...entries.map((/** @type {any} */ entry) => row(app, entry, answer.names)));
      found += entries.length;
      hasMore = answer.next !== null;
      before = answer.next ?? "";
    }
    foot.replaceChildren(
      ...(list.children.length ? [] : [empty(words.say("log_empty"), words.say("log_empty_text"))]),
      ...(hasMore ? [doing(app, words.say("load_more"), load)] : []),
    );
  };
  const anew = async () => {
    before = "";
    list.replaceChildren();
    await load();
  };
  kind.addEventListener("change", () => anew().catch((error) => app.toast(app.sentence(error))));
  const file = (/** @type {string} */ ending) => doing(app, words.say(`log_${ending}`), () => download(app, `/v1/moderation/log.${ending}`, `moderation-log.${ending}`));
  place.append(head(app, "log", file("csv"), file("jsonl")), h("div", { class: "filters" }, field(words.say("log_kind"), kind)), list, foot);
  await load();
}

/** @param {import("../shell.js").App} app @param {any} entry @param {Record<string, string>} names */
function row(app, entry, names) {
  const { words } = app;
  const who = (/** @type {string} */ id) => h("span", { title: id }, words.name(names[id] ?? "[deleted]"));
  return h(
    "li",
    null,
    h("p", null, entry.by ? who(entry.by) : words.say("log_server"), " · ", h("strong", null, deed(app, entry.action)), entry.user_id ? [" · ", who(entry.user_id)] : null),
    h("p", { class: "muted" }, when(app, entry.at_ms / 1000), entry.count === undefined ? null : ` · ${words.say("log_count", { n: entry.count })}`, entry.until_ms ? ` · ${words.say("log_until", { when: words.date(entry.until_ms / 1000) })}` : null),
    entry.reason ? h("p", null, h("q", null, entry.reason)) : null,
    entry.before || entry.after ? h("p", { class: "change" }, h("del", null, h("span", { class: "sr" }, words.say("log_before")), entry.before ?? "–"), " → ", h("ins", null, h("span", { class: "sr" }, words.say("log_after")), entry.after ?? "–")) : null,
    entry.comment_id ? h("p", { class: "muted small" }, words.say("log_comment"), " ", h("code", null, entry.comment_id)) : null,
  );
}

/** @param {import("../shell.js").App} app @param {string} action */
function deed(app, action) {
  const undone = action.startsWith("undo_");
  const plain = undone ? action.slice(5) : action;
  const said = app.words.has(`did_${plain}`) ? app.words.say(`did_${plain}`) : plain.replaceAll("_", " ");
  return undone ? app.words.say("did_undo", { what: said }) : said;
}

/** A file that only whoever is signed in may have. @param {import("../shell.js").App} app @param {string} path @param {string} name */
async function download(app, path, name) {
  const answer = await app.api.open("GET", path);
  if (!answer.ok) throw new Error(String(answer.status));
  const address = URL.createObjectURL(await answer.blob());
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
