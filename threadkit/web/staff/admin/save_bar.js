// What stands below settings that were changed: save, or forget it; and the words for when neither goes smoothly.

import { Refused } from "../api.js";
import { button, h } from "../ui.js";
import { doing } from "./parts.js";
import { isConflict } from "./site.js";

/**
 * @param {import("../shell.js").App} app @param {import("./site.js").Draft} draft
 * @param {(field: string, sentence: string) => boolean} [atField] shows an error where it belongs; says whether it could
 */
export function saveBar(app, draft, atField) {
  const { words } = app;
  const trouble = h("div", { class: "stack", role: "alert" });
  const told = h("p", { role: "status" });
  const save = async () => {
    trouble.replaceChildren();
    try {
      await draft.save();
      app.toast(words.say("saved"));
    } catch (error) {
      if (isConflict(error)) trouble.replaceChildren(conflict());
      else if (!(error instanceof Refused) || !atField?.(fieldOf(error), why(error))) trouble.replaceChildren(h("p", { class: "error" }, app.sentence(error)));
    }
  };
  const conflict = () =>
    h(
      "div",
      { class: "notice warning" },
      h("p", null, h("strong", null, words.say("conflict_title")), " ", words.say("conflict_text")),
      button(words.say("conflict_load"), async () => {
        try {
          await draft.rebase();
          trouble.replaceChildren();
        } catch (error) {
          trouble.replaceChildren(h("p", { class: "error" }, app.sentence(error)));
        }
      }),
    );
  const bar = h(
    "div",
    { class: "savebar", hidden: true },
    trouble,
    h("div", { class: "row" }, told, button(words.say("discard"), () => draft.discard()), doing(app, words.say("save"), save, { class: "primary" })),
  );
  const look = () => {
    const n = draft.changes.size;
    bar.hidden = n === 0;
    told.textContent = n ? words.say("changes", { n }) : "";
    if (!n) trouble.replaceChildren();
  };
  draft.addEventListener("change", look);
  draft.addEventListener("renew", look);
  return bar;
}

/** @param {Refused} error */
function fieldOf(error) {
  return error.problem.field ?? /^(name|domain): /.exec(error.message)?.[1] ?? "";
}

/** The sentence without the name of the field, which it stands beside. @param {Refused} error */
function why(error) {
  return error.message.replace(/^[\w.[\]]+: /, "");
}
