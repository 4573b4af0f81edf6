// Banning somebody: for how long, why, and whether all they wrote goes too.

import { dialog, field, form, h } from "../ui.js";
import { offer, undoOne } from "./deciding.js";

const HOURS = ["24", "72", "168", "720", ""];

/** @param {import("../shell.js").App} app @param {any} card @param {(job: any) => void} then with the job that deletes the rest, if there is one */
export function banDialog(app, card, then) {
  const { words, api } = app;
  const { id } = card.user;
  const lengths = HOURS.map((hours, at) => h("label", { class: "choice" }, h("input", { type: "radio", name: "hours", value: hours, checked: at === 0 }), words.say(`ban_${hours || "ever"}`)));
  const reason = h("input", { name: "reason", maxlength: "500", autocomplete: "off" });
  const removes = h("input", { type: "checkbox", name: "delete_comments" });
  const box = dialog(app, words.say("ban_title", { name: words.name(card.user.name) }), [
    form(
      app,
      [
        h("fieldset", { class: "choices" }, h("legend", { class: "label" }, words.say("ban_length")), lengths),
        field(words.say("reason"), reason, words.say("ban_reason_hint")),
        h("label", { class: "choice" }, removes, words.say("ban_delete")),
      ],
      words.say("ban_now"),
      async (made) => {
        const hours = new FormData(made).get("hours");
        const body = { hours: hours ? Number(hours) : null, reason: reason.value.trim() || null, delete_comments: removes.checked };
        const answer = await api.answer("POST", `/v1/moderation/ban/${id}`, body);
        const entry = answer.headers.get("x-undo");
        box.close();
        const job = answer.body.job ? await api.get(`/v1/moderation/jobs/${answer.body.job}`) : null;
        const text = removes.checked ? words.say("done_ban_deleted", { n: answer.body.comments_deleted }) : words.say("done_ban");
        if (entry) offer(app, text, () => undoOne(app, entry).then(() => then(null)));
        then(job);
      },
    ),
  ]);
}
