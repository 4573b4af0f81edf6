// On which hosts a site's comments may be shown.

import { button, field, h } from "../ui.js";
import { card, head, outcome } from "./parts.js";
import { saveBar } from "./save_bar.js";
import { Draft, load } from "./site.js";

const MOST = 100;

/** @param {import("../shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words } = app;
  const draft = new Draft(app, await load(app));
  const list = h("ul", { class: "entries" });
  const error = h("p", { class: "error", id: "origin-error", role: "alert", hidden: true });
  const more = h("input", { name: "origin", placeholder: "www.example.net", autocapitalize: "none", spellcheck: "false", maxlength: "260", "aria-describedby": "origin-error" });
  const entries = () => /** @type {string[]} */ (draft.value("allowed_origins"));
  const wrong = (/** @type {string} */ text) => {
    error.textContent = text;
    error.hidden = !text;
    more.toggleAttribute("aria-invalid", Boolean(text));
    return true;
  };
  const draw = () => {
    wrong("");
    list.replaceChildren(
      h("li", null, h("code", null, draft.site.domain), h("span", { class: "muted" }, words.say("origin_own"))),
      ...entries().map((entry, at) =>
        h(
          "li",
          null,
          h("code", null, entry),
          h("span", { class: "muted" }, entry.startsWith("*.") ? words.say("origin_below", { domain: entry.slice(2) }) : ""),
          button(words.say("remove"), () => (draft.set("allowed_origins", entries().filter((_, place) => place !== at)), draw(), more.focus()), { class: "quiet", "aria-label": words.say("remove_what", { what: entry }) }),
        ),
      ),
    );
  };
  const add = h("form", { class: "inline" }, field(words.say("origin_add"), more, words.say("origin_hint")), h("button", null, words.say("add")));
  more.setAttribute("aria-describedby", `${more.getAttribute("aria-describedby")} origin-error`);
  add.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const entry = more.value.trim().toLowerCase();
    if (!entry) return;
    if (!hostOf(entry.replace(/^\*\./, ""))) return wrong(words.say("origin_wrong", { entry }));
    if (entries().includes(entry)) return wrong(words.say("origin_twice", { entry }));
    if (entries().length >= MOST) return wrong(words.say("origin_many", { n: MOST }));
    draft.set("allowed_origins", [...entries(), entry]);
    more.value = "";
    draw();
  });
  draft.addEventListener("renew", draw);
  place.append(head(app, "origins"), card(words.say("origin_list"), list, add, error), card(words.say("origin_check"), checker(app, draft)), saveBar(app, draft, (name, text) => name.startsWith("allowed_origins") && wrong(text)));
  draw();
}

/** @param {import("../shell.js").App} app @param {Draft} draft */
function checker(app, draft) {
  const { words } = app;
  const address = h("input", { name: "address", inputmode: "url", placeholder: "https://www.example.net/article", autocapitalize: "none", spellcheck: "false", required: true });
  const { line, say } = outcome();
  const made = h("form", { class: "inline" }, field(words.say("origin_address"), address), h("button", null, words.say("check")));
  made.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const host = hostOf(address.value.trim());
    if (!host) return say("bad", words.say("origin_no_address"));
    const by = allowedBy(host, draft.site.domain, draft.value("allowed_origins"));
    if (by) return say("ok", words.say("origin_yes", { host, by }));
    if (host === "localhost" || host.endsWith(".localhost") || host === "127.0.0.1") return say("warning", words.say("origin_localhost"));
    say("bad", words.say("origin_no", { host }));
  });
  return h("div", { class: "stack" }, made, line);
}

/** The entry that lets a host in, as the server looks for it. @param {string} host @param {string} domain @param {string[]} entries */
function allowedBy(host, domain, entries) {
  if (host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$/.test(domain))) return domain;
  return entries.find((entry) => {
    const wild = entry.startsWith("*.") ? entry.slice(2) : null;
    return wild ? host === wild || host.endsWith(`.${wild}`) : host === hostOf(entry);
  });
}

/** @param {string} text an address, an origin or a bare host */
function hostOf(text) {
  try {
    const url = new URL(/^https?:\/\//i.test(text) ? text : `http://${text}`);
    const host = url.hostname.replace(/\.$/, "");
    return !url.username && /^([a-z0-9_][a-z0-9._-]*|\[[0-9a-f:.]+\])$/.test(host) ? host : null;
  } catch {
    return null;
  }
}
