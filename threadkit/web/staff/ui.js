// Small parts that the pages share.

import { button, h, icon } from "../embed/dom.js";

export { button, h, icon };
export { cleaned, webAddress } from "../embed/dom.js";

const CLOSE = "M6.4 5L5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z";

/** The focus goes back where it came from by itself, before the next key; `close` may come after it. @param {import("./shell.js").App} app @param {string} title @param {any[]} content */
export function dialog(app, title, content) {
  const box = h(
    "dialog",
    { class: "dialog", "aria-label": title },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", null, title),
      h("button", { type: "button", class: "quiet round", "aria-label": app.words.say("close"), onclick: () => box.close() }, icon(CLOSE)),
    ),
    ...content,
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (/** @type {Event} */ event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

/** A labelled field with an explanation below it. @param {string} label @param {HTMLElement} control @param {string} [hint] */
export function field(label, control, hint) {
  if (!hint) return h("label", { class: "field" }, h("span", { class: "label" }, label), control);
  const id = `hint-${Math.random().toString(36).slice(2)}`;
  control.setAttribute("aria-describedby", id);
  return h("div", { class: "field" }, h("label", null, h("span", { class: "label" }, label), control), h("p", { class: "hint", id }, hint));
}

/** @param {Record<string, any>} props */
export function input(props) {
  return h("input", props);
}

/**
 * A form that cannot be sent twice and says what went wrong.
 * @param {import("./shell.js").App} app @param {any[]} parts @param {string} label @param {(form: HTMLFormElement) => Promise<any>} then
 */
export function form(app, parts, label, then) {
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const submit = h("button", { class: "primary" }, label);
  const made = h("form", null, ...parts, error, h("div", { class: "row" }, submit));
  made.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    submit.disabled = true;
    error.hidden = true;
    try {
      await then(made);
    } catch (problem) {
      error.textContent = app.sentence(problem);
      error.hidden = false;
    }
    submit.disabled = false;
  });
  return made;
}

/** A question before something that cannot be taken back; `typed` must be written out to go on. Resolves to whether. @param {import("./shell.js").App} app @param {{title: string, text: string, action: string, typed?: string}} what @returns {Promise<boolean>} */
export function ask(app, { title, text, action, typed }) {
  return new Promise((done) => {
    let yes = false;
    const word = h("input", { autocomplete: "off", spellcheck: "false" });
    const go = h("button", { class: "danger", disabled: Boolean(typed) }, action);
    word.addEventListener("input", () => (go.disabled = word.value.trim() !== typed));
    const asked = h(
      "form",
      { method: "dialog" },
      h("p", null, text),
      typed ? field(app.words.say("type_to_confirm", { word: typed }), word) : null,
      h("div", { class: "row end" }, button(app.words.say("cancel"), () => box.close()), go),
    );
    asked.addEventListener("submit", () => (yes = true));
    const box = dialog(app, title, [asked]);
    box.addEventListener("close", () => done(yes));
  });
}

/** What a view shows when there is nothing. @param {string} title @param {string} [text] */
export function empty(title, text) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), text ? h("p", { class: "muted" }, text) : null);
}

/** Text to copy, with a button that does. @param {import("./shell.js").App} app @param {string} text @param {string} [label] */
export function copyable(app, text, label) {
  return h(
    "div",
    { class: "copyable" },
    h("pre", { tabindex: "0", "aria-label": label ?? app.words.say("copy") }, h("code", null, text)),
    button(app.words.say("copy"), async () => {
      await navigator.clipboard.writeText(text);
      app.toast(app.words.say("copied"));
    }),
  );
}

/** A moment, as people say it; the exact one on hover. @param {import("./shell.js").App} app @param {number} seconds since the epoch */
export function when(app, seconds) {
  return h("time", { datetime: new Date(seconds * 1000).toISOString(), title: app.words.date(seconds) }, app.words.ago(seconds));
}
