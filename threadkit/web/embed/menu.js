// What can be done with one comment, and who wrote it.

import { remove as takeAway } from "./changes.js";
import { Composer } from "./composer.js";
import { dialog } from "./dialog.js";
import { button, h } from "./dom.js";
import { place } from "./place.js";

const REASONS = ["spam", "harassment", "hate_speech", "misinformation", "other"];

/** @param {any} app @param {HTMLElement} anchor @param {string} id */
export function openMenu(app, anchor, id) {
  const comment = app.thread.comments.get(id);
  if (!comment) return;
  const { words } = app;
  const isMine = app.api.user?.id === comment.author;
  const age = Date.now() / 1000 - comment.created;
  const mayEdit = isMine && age < (app.site?.edit_window_minutes ?? 15) * 60;
  /** @type {[string, () => void][]} */
  const items = [
    ...(mayEdit ? [/** @type {[string, () => void]} */ ([words.say("edit"), () => edit(app, id)])] : []),
    ...(isMine || app.isStaff ? [/** @type {[string, () => void]} */ ([words.say("delete"), () => remove(app, id)])] : []),
    ...(app.isStaff && !comment.parent ? [/** @type {[string, () => void]} */ ([words.say(app.thread.pinned.has(id) ? "unpin" : "pin"), () => pin(app, id)])] : []),
    [words.say("copy_link"), () => copyLink(app, id)],
    ...(isMine ? [] : [/** @type {[string, () => void]} */ ([words.say("report"), () => report(app, id)])]),
    ...(isMine ? [] : [/** @type {[string, () => void]} */ ([words.say("block"), () => block(app, comment)])]),
    ...(isMine && ["rejected", "spam"].includes(comment.status) ? [/** @type {[string, () => void]} */ ([words.say("appeal"), () => appeal(app, id)])] : []),
  ];
  if (anchor.getAttribute("aria-expanded") === "true") return;
  const menu = h("div", { class: "menu", role: "menu", part: "menu", "aria-label": words.say("menu") });
  const until = new AbortController();
  const close = (giveBack = true) => {
    until.abort();
    menu.remove();
    const view = app.views.get(id);
    if (!view) return;
    view.hasMenu = false;
    app.refresh(id);
    if (giveBack) view.actions.querySelector("[data-action=menu]")?.focus();
  };
  const outside = (/** @type {Event} */ event) => event.composedPath().includes(menu) || event.composedPath().includes(anchor) || close(false);
  menu.append(...items.map(([text, then]) => h("button", { type: "button", role: "menuitem", tabindex: "-1", onclick: () => (close(), then()) }, text)));
  menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const all = /** @type {HTMLElement[]} */ ([...menu.children]);
    const at = all.indexOf(app.shadowRoot.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (next !== undefined) all[next % all.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  app.views.get(id).hasMenu = true;
  app.refresh(id);
  anchor.addEventListener("click", (event) => (event.stopImmediatePropagation(), close()), { signal: until.signal, capture: true });
  document.addEventListener("pointerdown", outside, { signal: until.signal, capture: true });
  place(app, anchor, menu);
  /** @type {HTMLElement} */ (menu.firstElementChild).focus({ preventScroll: true });
}

function edit(/** @type {any} */ app, /** @type {string} */ id) {
  const view = app.views.get(id);
  const comment = app.thread.comments.get(id);
  if (!view || !comment) return;
  view.editing = new Composer(app, { edit: id, text: comment.text });
  view.body.replaceChildren(view.editing.element);
  view.actions.replaceChildren();
  view.editing.focus();
}

/** Asks once more, in place. */
function remove(/** @type {any} */ app, /** @type {string} */ id) {
  const { words } = app;
  const view = app.views.get(id);
  if (!view) return;
  const sure = h(
    "div",
    { class: "row confirm", role: "group", "aria-label": words.say("delete_sure") },
    h("span", null, words.say("delete_sure")),
    button(words.say("confirm"), () => really(), { class: "danger" }),
    button(words.say("cancel"), () => (sure.remove(), view.article.focus()), { class: "quiet" }),
  );
  view.slot.querySelector(".confirm")?.remove();
  view.slot.prepend(sure);
  sure.querySelector("button")?.focus();
  const really = async () => {
    try {
      await app.api.call("DELETE", `/v1/comments/${id}`);
      sure.remove();
      const { thread } = app;
      const above = thread.path(id);
      thread.total -= takeAway(thread, id);
      for (const one of above) app.refresh(one);
      app.summary();
      app.announce(words.say("deleted_done"), true);
    } catch (error) {
      app.complain(error);
    }
  };
}

async function pin(/** @type {any} */ app, /** @type {string} */ id) {
  try {
    const { pinned } = await app.api.call("POST", `/v1/comments/${id}/pin`, {});
    pinned ? app.thread.pinned.add(id) : app.thread.pinned.delete(id);
    app.refresh(id);
  } catch (error) {
    app.complain(error);
  }
}

async function copyLink(/** @type {any} */ app, /** @type {string} */ id) {
  const url = `${(app.getAttribute("url") || location.href).split("#")[0]}#comment-${id}`;
  try {
    await navigator.clipboard.writeText(url);
    app.announce(app.words.say("copied"), true);
  } catch {
    location.hash = `comment-${id}`;
  }
}

async function report(/** @type {any} */ app, /** @type {string} */ id) {
  const { words } = app;
  if (!(await app.person("report"))) return;
  const details = h("textarea", { rows: "3", class: "box", maxlength: "1000", placeholder: words.say("report_details"), "aria-label": words.say("report_details") });
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const form = h(
    "form",
    { method: "dialog" },
    h(
      "fieldset",
      null,
      h("legend", null, words.say("report_why")),
      ...REASONS.map((reason, number) => h("label", { class: "choice" }, h("input", { type: "radio", name: "reason", value: reason, checked: number === 0 }), words.say(`reason_${reason}`))),
    ),
    details,
    error,
    h("div", { class: "row" }, h("button", { class: "primary" }, words.say("report_send"))),
  );
  const box = dialog(app, words.say("report"), [form]);
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const reason = new FormData(form).get("reason");
      await app.api.call("POST", `/v1/comments/${id}/report`, { reason, ...(details.value.trim() ? { details: details.value } : {}) });
      box.close();
      app.announce(words.say("report_done"), true);
    } catch (trouble) {
      error.textContent = app.sentence(trouble);
      error.hidden = false;
    }
  });
}

async function appeal(/** @type {any} */ app, /** @type {string} */ id) {
  const { words } = app;
  const text = h("textarea", { rows: "4", class: "box", maxlength: "1000", placeholder: words.say("appeal_text"), "aria-label": words.say("appeal_text") });
  const send = button(
    words.say("appeal_send"),
    async () => {
      try {
        await app.api.call("POST", `/v1/comments/${id}/appeal`, { text: text.value });
        box.close();
        app.announce(words.say("appeal_done"), true);
      } catch (error) {
        app.complain(error);
      }
    },
    { class: "primary" },
  );
  const box = dialog(app, words.say("appeal"), [text, h("div", { class: "row" }, send)]);
}

async function block(/** @type {any} */ app, /** @type {any} */ comment) {
  const { words } = app;
  if (!(await app.person("block"))) return;
  try {
    await app.api.call("POST", `/v1/users/${comment.author}/block`);
    await app.reload({ quietly: true });
    const done = words.say("blocked", { name: words.name(comment.name) });
    app.announce(done);
    app.toast(done, {
      label: words.say("undo"),
      then: async () => {
        await app.api.call("DELETE", `/v1/users/${comment.author}/block`);
        app.reload({ quietly: true });
      },
    });
  } catch (error) {
    app.complain(error);
  }
}
