// One setting: a control that fits its type, what it is for, its default, and the way back to it.

import { button, h } from "../ui.js";
import { same } from "./site.js";

const HIDDEN = "(hidden)";

/** @typedef {{name: string, element: HTMLElement, wrong: (text: string) => boolean}} SettingField */

/** @param {import("../shell.js").App} app @param {import("./site.js").Draft} draft @param {any} setting as the API describes it @returns {SettingField} */
export function settingField(app, draft, setting) {
  const { words } = app;
  const { name } = setting;
  const id = `set-${name.replaceAll(".", "-")}`;
  const isSwitch = setting.type === "boolean";
  const hasDefault = setting.default !== undefined;
  const control = makers[kindOf(setting)](app, draft, setting);
  const shown = control.element;
  const target = control.input ?? shown;
  target.id = id;
  target.setAttribute("aria-describedby", `${id}-why ${id}-wrong`);
  const error = h("p", { class: "error", id: `${id}-wrong`, role: "alert", hidden: true });
  const dispute = h("p", { class: "warn", hidden: true });
  const reset = button(words.say("reset"), () => (draft.set(name, setting.default), control.show(setting.default), look(), target.focus()), { class: "quiet", "aria-label": words.say("reset_what", { what: labelOf(app, name) }) });
  const wrong = (/** @type {string} */ text) => {
    error.textContent = text;
    error.hidden = !text;
    text ? target.setAttribute("aria-invalid", "true") : target.removeAttribute("aria-invalid");
    if (text) target.focus();
    return true;
  };
  const look = () => {
    const value = draft.value(name);
    element.classList.toggle("changed", draft.changes.has(name));
    reset.hidden = !hasDefault || same(value, setting.default);
    dispute.hidden = !draft.disputed.has(name) || !draft.changes.has(name);
    dispute.textContent = dispute.hidden ? "" : words.say("disputed", { value: said(app, setting, draft.saved[name]) });
  };
  const label = h(control.isGroup ? "span" : "label", control.isGroup ? { class: "label", id: `${id}-label` } : { class: "label", for: id }, labelOf(app, name));
  if (control.isGroup) target.setAttribute("aria-labelledby", `${id}-label`);
  const element = h(
    "div",
    { class: `setting${isSwitch ? " switch" : ""}`, "data-setting": name },
    h("div", { class: "setting-head" }, isSwitch ? [shown, label] : label, h("code", { class: "muted" }, name)),
    isSwitch ? null : shown,
    h("p", { class: "hint", id: `${id}-why` }, setting.explanation, " ", hasDefault ? h("span", { class: "default" }, words.say("default_is", { value: said(app, setting, setting.default) })) : null),
    dispute,
    error,
    h("div", { class: "row" }, reset),
  );
  control.listen((/** @type {any} */ value) => {
    wrong("");
    draft.set(name, value);
    look();
  });
  draft.addEventListener("renew", () => {
    control.show(draft.value(name));
    wrong("");
    look();
  });
  control.show(draft.value(name));
  look();
  return { name, element, wrong };
}

/** @param {import("../shell.js").App} app @param {string} name */
export function labelOf(app, name) {
  const known = `setting_${name}`;
  return app.words.has(known) ? app.words.say(known) : name;
}

/** A value in words. @param {import("../shell.js").App} app @param {any} setting @param {any} value */
function said(app, setting, value) {
  const { words } = app;
  if (value === HIDDEN) return words.say("is_hidden");
  if (value === null || value === "" || (Array.isArray(value) && !value.length)) return words.say("is_empty");
  if (typeof value === "boolean") return words.say(value ? "is_on" : "is_off");
  return [value].flat().map((one) => choiceName(app, setting.name, one)).join(", ");
}

/** @param {import("../shell.js").App} app @param {string} name @param {any} choice */
function choiceName(app, name, choice) {
  const known = `choice_${name}_${choice}`;
  return app.words.has(known) ? app.words.say(known) : String(choice);
}

/** @param {any} setting */
function kindOf(setting) {
  if (setting.type === "list") return setting.choices ? "order" : "lines";
  return setting.type === "integer" ? "number" : setting.type;
}

/**
 * @typedef {object} Control
 * @property {any} element
 * @property {any} [input] what is focused and described, when it is not the element itself
 * @property {boolean} [isGroup]
 * @property {(value: any) => void} show
 * @property {(then: (value: any) => void) => void} listen
 */

/** @type {Record<string, (app: import("../shell.js").App, draft: any, setting: any) => Control>} */
const makers = {
  boolean() {
    const box = h("input", { type: "checkbox", role: "switch" });
    return { element: box, show: (value) => (box.checked = value), listen: (then) => box.addEventListener("change", () => then(box.checked)) };
  },

  number(app, _, setting) {
    const box = h("input", { type: "number", class: "short", step: setting.type === "integer" ? 1 : "any", min: setting.min, max: setting.max, inputmode: setting.type === "integer" ? "numeric" : "decimal", placeholder: setting.may_be_null ? app.words.say("as_server") : null });
    return {
      element: box,
      show: (value) => (box.value = value ?? ""),
      // What is no number is sent as it is: the server says why not, beside the field.
      listen: (then) => box.addEventListener("input", () => then(box.value === "" ? null : Number(box.value))),
    };
  },

  text(app, draft, setting) {
    const box = h("input", { type: setting.is_secret ? "password" : "text", autocomplete: setting.is_secret ? "new-password" : "off", spellcheck: "false", maxlength: setting.max_length });
    const show = (/** @type {string} */ value) => {
      box.value = value === HIDDEN ? "" : value;
      box.placeholder = value === HIDDEN ? app.words.say("is_hidden") : "";
    };
    // An empty field that stands for a secret leaves it as it is; "reset" takes it away.
    return { element: box, show, listen: (then) => box.addEventListener("input", () => then(box.value === "" && draft.saved[setting.name] === HIDDEN ? HIDDEN : box.value)) };
  },

  choice(app, _, setting) {
    const choices = [...(setting.may_be_null ? [""] : []), ...setting.choices];
    const box = h("select", { class: "short" }, choices.map((choice) => h("option", { value: choice }, choice === "" ? app.words.say("as_server") : choiceName(app, setting.name, choice))));
    return { element: box, show: (value) => (box.value = value ?? ""), listen: (then) => box.addEventListener("change", () => then(box.value === "" ? null : box.value)) };
  },

  lines(app, _, setting) {
    const box = h("textarea", { rows: 6, spellcheck: "false", autocapitalize: "none" });
    const counted = h("p", { class: "hint" });
    const entries = () => box.value.split("\n").map((/** @type {string} */ line) => line.trim()).filter(Boolean);
    const tell = () => (counted.textContent = app.words.say("lines", { n: entries().length, most: setting.max_items ?? "∞" }));
    return {
      element: h("div", { class: "stack tight" }, box, counted),
      input: box,
      show: (value) => ((box.value = value.join("\n")), tell()),
      listen: (then) => box.addEventListener("input", () => (tell(), then(entries()))),
    };
  },

  order(app, _, setting) {
    const list = h("ol", { class: "order", tabindex: "-1" });
    /** @type {string[]} */
    let order = [];
    /** @type {(value: any) => void} */
    let changed = () => {};
    const move = (/** @type {number} */ from, /** @type {number} */ to) => {
      order.splice(to, 0, ...order.splice(from, 1));
      changed([...order]);
      draw();
      list.children[to].querySelector(`button:not(:disabled)`)?.focus();
    };
    const draw = () =>
      list.replaceChildren(
        ...order.map((one, at) => {
          const what = choiceName(app, setting.name, one);
          const step = (/** @type {string} */ word, /** @type {string} */ sign, /** @type {number} */ to) =>
            button(sign, () => move(at, to), { class: "quiet round", disabled: to < 0 || to >= order.length, "aria-label": app.words.say(word, { what }) });
          return h("li", null, h("span", null, what), step("move_up", "↑", at - 1), step("move_down", "↓", at + 1));
        }),
      );
    return {
      element: list,
      isGroup: true,
      show(value) {
        order = [...value, ...setting.choices.filter((/** @type {string} */ one) => !value.includes(one))];
        draw();
      },
      listen: (then) => (changed = then),
    };
  },
};
