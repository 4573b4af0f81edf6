// Deleting all that somebody wrote takes a while: how far it is, and how to stop it.

import { button, h } from "../ui.js";

const LOOK_MS = 700;

/** @param {import("../shell.js").App} app @param {HTMLElement} place @param {any} job @param {AbortSignal} signal @param {() => void} over */
export function followJob(app, place, job, signal, over) {
  const { words, api } = app;
  const bar = h("progress", { max: Math.max(1, job.total), value: job.done, "aria-label": words.say("job_title") });
  const text = h("p");
  const stop = button(words.say("job_stop"), () => api.call("DELETE", `/v1/moderation/jobs/${job.id}`).catch((error) => app.toast(app.sentence(error))));
  place.replaceChildren(h("div", { class: "card" }, h("h2", null, words.say("job_title")), bar, text, stop));
  const look = async () => {
    if (signal.aborted) return;
    bar.value = job.done;
    text.textContent = words.say(`job_${job.state}`, { done: job.done, total: job.total, deleted: job.deleted });
    if (job.state !== "running") {
      stop.remove();
      app.toast(text.textContent);
      return over();
    }
    await new Promise((done) => setTimeout(done, LOOK_MS));
    try {
      job = await api.get(`/v1/moderation/jobs/${job.id}`);
    } catch {
      // The next look will tell.
    }
    look();
  };
  look();
}
