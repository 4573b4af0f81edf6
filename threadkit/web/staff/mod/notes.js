// What moderators noted about somebody, for each other.

import { button, field, form, h, when } from "../ui.js";

/** @param {import("../shell.js").App} app @param {string} userId @param {any[]} known newest first */
export function notes(app, userId, known) {
  const { words, api } = app;
  const list = h("ul", { class: "notes" });
  const text = h("textarea", { rows: "2", maxlength: "2000", required: true });
  const row = (/** @type {any} */ note) => {
    const mayDelete = note.by === app.me.user.id || app.may("admin");
    const one = h(
      "li",
      null,
      h("p", { class: "note-text" }, h("bdi", null, note.text)),
      h("p", { class: "muted" }, h("bdi", null, note.by_name ? words.name(note.by_name) : words.say("somebody")), " · ", when(app, Date.parse(note.created_at) / 1000)),
      mayDelete
        ? button(
            words.say("note_delete"),
            async () => {
              try {
                await api.call("DELETE", `/v1/moderation/users/${userId}/notes/${note.id}`);
                one.remove();
                text.focus();
              } catch (error) {
                app.toast(app.sentence(error));
              }
            },
            { class: "quiet" },
          )
        : null,
    );
    return one;
  };
  list.append(...known.map(row));
  const add = form(app, [field(words.say("note_new"), text, words.say("note_hint"))], words.say("note_add"), async () => {
    const note = await api.call("POST", `/v1/moderation/users/${userId}/notes`, { text: text.value });
    list.prepend(row(note));
    text.value = "";
    app.announce(words.say("note_added"));
  });
  return h("section", { class: "part" }, h("h2", null, words.say("notes")), list, add);
}
