// One's own account: the second step, the password, and where one is signed in.

import { attempt, passkeyPart, recoveryPart, totpPart } from "./second_step.js";
import { ask, button, field, form, h, when } from "./ui.js";

/** @param {import("./shell.js").App} app @param {HTMLElement} place */
export async function show(app, place) {
  const { words, api } = app;
  const draw = async () => {
    const [state, { sessions }, me] = await Promise.all([api.staff("GET", "second-step"), api.get("/v1/users/me/sessions"), api.session()]);
    app.me = me ?? app.me;
    place.replaceChildren(h("h1", null, words.say("view_account")), secondStep(state), password(), devices(sessions));
  };

  /** @param {any} state */
  const secondStep = (state) =>
    h(
      "section",
      { class: "card", "aria-labelledby": "second-step" },
      h("h2", { id: "second-step" }, words.say("second_step")),
      h("p", { class: state.is_on ? "good" : "muted" }, words.say(state.is_on ? "second_step_on" : "second_step_off")),
      totpPart(app, state, draw),
      passkeyPart(app, state, draw),
      recoveryPart(app, state, draw),
    );

  const password = () => {
    const head = h("h2", { id: "password" }, words.say("password"));
    const card = h("section", { class: "card", "aria-labelledby": "password" }, head);
    if (!app.me.has_password) {
      card.append(h("p", { class: "muted" }, words.say("no_password")));
      return card;
    }
    const old = h("input", { type: "password", autocomplete: "current-password", required: true });
    const next = h("input", { type: "password", autocomplete: "new-password", minlength: "8", required: true });
    const changed = form(app, [field(words.say("old_password"), old), field(words.say("new_password"), next, words.say("new_password_hint"))], words.say("change_password"), async () => {
      await api.call("PUT", "/v1/users/me/password", { old_password: old.value, new_password: next.value });
      app.toast(words.say("password_changed"));
      await draw();
    });
    // For programs that keep passwords: whose it is.
    changed.prepend(h("input", { type: "email", autocomplete: "username", value: app.me.user.email ?? "", hidden: true, readonly: true, tabindex: "-1" }));
    card.append(changed);
    return card;
  };

  /** @param {any[]} sessions */
  const devices = (sessions) => {
    const end = async (/** @type {any} */ session) => {
      await api.call("DELETE", `/v1/users/me/sessions/${session.id}`);
      await draw();
    };
    const everywhere = async () => {
      const what = { title: words.say("end_all"), text: words.say("end_all_text"), action: words.say("end_all") };
      if (!(await ask(app, what))) return;
      await api.call("DELETE", "/v1/users/me/sessions");
      await app.signOut();
    };
    const rows = sessions.map((session) =>
      h(
        "li",
        { class: "line" },
        h("div", null, h("p", null, deviceName(session.user_agent) || words.say("unknown_device")), h("p", { class: "hint" }, words.say("last_used"), " ", when(app, Date.parse(session.last_used) / 1000))),
        session.is_current
          ? h("span", { class: "good" }, words.say("this_device"))
          : button(words.say("sign_out"), () => attempt(app, () => end(session)), { "aria-label": words.say("end_session", { device: deviceName(session.user_agent) || words.say("unknown_device") }) }),
      ),
    );
    return h(
      "section",
      { class: "card", "aria-labelledby": "devices" },
      h("h2", { id: "devices" }, words.say("devices")),
      h("ul", { class: "lines" }, rows),
      h("div", { class: "row" }, button(words.say("end_all"), () => attempt(app, everywhere), { class: "danger" })),
    );
  };

  await draw();
}

/** What people call a browser, out of what it says of itself. @param {string} agent */
function deviceName(agent) {
  const browser = [
    ["Edg/", "Edge"],
    ["OPR/", "Opera"],
    ["Firefox/", "Firefox"],
    ["Chrome/", "Chrome"],
    ["Safari/", "Safari"],
  ].find(([mark]) => agent.includes(mark))?.[1];
  const system = [
    ["Android", "Android"],
    ["iPhone", "iPhone"],
    ["iPad", "iPad"],
    ["Windows", "Windows"],
    ["Mac OS X", "macOS"],
    ["Linux", "Linux"],
  ].find(([mark]) => agent.includes(mark))?.[1];
  return [browser, system].filter(Boolean).join(", ") || agent.slice(0, 60);
}
