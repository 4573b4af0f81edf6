// What concerns oneself: notifications, profile, devices, and leaving.

import { button, h, webAddress } from "./dom.js";
import { dialog } from "./dialog.js";

const KINDS = ["reply", "mention", "upvote", "mod_action", "report_outcome"];

/** @param {any} app @param {HTMLElement} _anchor */
export async function openNotifications(app, _anchor) {
  const { words, api } = app;
  const list = h("ul", { class: "notes", role: "list" }, h("li", { class: "muted" }, words.say("loading")));
  const readAll = button(words.say("read_all"), async () => {
    await api.call("POST", "/v1/notifications/read");
    app.unread(0);
    for (const one of list.querySelectorAll(".new")) one.classList.remove("new");
  }, { class: "quiet" });
  const box = dialog(app, words.say("notifications"), [list, h("div", { class: "row" }, readAll)]);
  let offset = 0;
  const load = async () => {
    const page = await api.get(`/v1/notifications?offset=${offset}&limit=20`);
    if (!offset) list.replaceChildren();
    offset += page.notifications.length;
    app.unread(page.unread_count);
    if (!offset) list.append(h("li", { class: "muted" }, words.say("notifications_empty")));
    list.append(...page.notifications.map((/** @type {any} */ note) => entry(app, note, () => box.close())));
    if (page.has_more) {
      const more = button(words.say("load_more"), () => (more.remove(), load()), { class: "wide" });
      list.append(h("li", null, more));
    }
  };
  load().catch((error) => list.replaceChildren(h("li", { class: "error" }, app.sentence(error))));
}

function entry(/** @type {any} */ app, /** @type {any} */ note, /** @type {() => void} */ close) {
  const { words, api } = app;
  const who = note.from_user ? words.name(note.from_user.name) : note.from_name ? words.name(note.from_name) : words.say("somebody");
  const kind = kindOf(note);
  const key = words.has(`note_${kind}`) || words.has(`note_${kind}.other`) ? `note_${kind}` : "note_other";
  const line = words.say(key, { name: who, n: note.count });
  const isHere = note.page_id === app.thread.pageId;
  const elsewhere = webAddress(note.page_url);
  const href = isHere ? `#comment-${note.comment_id}` : elsewhere && (note.comment_id ? `${elsewhere}#comment-${note.comment_id}` : elsewhere);
  const seen = () => {
    if (!note.read) {
      note.read = true;
      app.unread(Math.max(0, (app.unreadCount ?? 1) - 1));
      api.call("POST", `/v1/notifications/${note.id}/read`).catch(() => {});
    }
    if (isHere) close();
  };
  return h(
    "li",
    { class: note.read ? "" : "new" },
    h("a", { href, target: !isHere && window !== window.top && "_top", onclick: seen }, h("strong", null, line), note.excerpt && h("span", { class: "muted", dir: "auto" }, note.excerpt), note.reason && h("span", { class: "muted" }, note.reason)),
    h("span", { class: "muted" }, words.ago(Date.parse(note.created_at) / 1000)),
  );
}

/** Which sentence tells it. Moderators do more things than authors need words for. @param {any} note */
function kindOf(note) {
  if (note.notification_type !== "mod_action") return note.notification_type;
  if (note.action === "report_outcome") return `report_${note.outcome ?? "stays"}`;
  if (["approve", "appeal_granted"].includes(note.action)) return "mod_approve";
  if (["reject", "spam", "delete", "appeal_declined"].includes(note.action)) return "mod_reject";
  return "mod_other";
}

/** @param {any} app @param {HTMLElement} _anchor */
export async function openAccount(app, _anchor) {
  const { words, api } = app;
  const content = h("div", { class: "account-body" }, h("p", { class: "muted" }, words.say("loading")));
  const box = dialog(app, words.say("account"), [content]);
  const tell = (/** @type {any} */ error) => app.complain(error);
  try {
    const [me, { sessions }, chosen, blocked] = await Promise.all([
      api.get("/v1/users/me"),
      api.get("/v1/users/me/sessions"),
      api.get("/v1/notifications/settings"),
      api.get("/v1/users/me/blocked"),
    ]);
    content.replaceChildren(
      profile(app, me, tell),
      section(words.say("told_of"), ...KINDS.map((kind) => choice(app, kind, chosen[kind], tell))),
      section(words.say("devices"), devices(app, sessions, tell)),
      ...(blocked.users.length ? [section(words.say("blocked_people"), people(app, blocked.users, tell))] : []),
      section(
        words.say("your_data"),
        h(
          "div",
          { class: "row" },
          button(words.say("export"), () => download(app).catch(tell), { class: "quiet" }),
          button(words.say("sign_out"), () => leave(app, box).catch(tell), { class: "quiet" }),
          button(words.say("delete_account"), () => end(app, box, tell), { class: "danger" }),
        ),
      ),
    );
    content.querySelector("input")?.focus();
  } catch (error) {
    content.replaceChildren(h("p", { class: "error", role: "alert" }, app.sentence(error)));
  }
}

function section(/** @type {string} */ title, /** @type {any[]} */ ...parts) {
  return h("section", { class: "part" }, h("h4", null, title), ...parts);
}

function profile(/** @type {any} */ app, /** @type {any} */ me, /** @type {(error: any) => void} */ tell) {
  const { words, api } = app;
  const isGuest = words.isGuest(me.name);
  const name = h("input", { name: "name", value: isGuest ? words.name(me.name) : me.name, maxlength: "24", disabled: isGuest, autocomplete: "nickname" });
  const picture = h("input", { name: "avatar", type: "url", value: me.avatar_url ?? "", placeholder: "https://", maxlength: "1000" });
  const form = h(
    "form",
    { novalidate: true },
    h("label", { class: "labelled" }, h("span", null, words.say("field_name")), name),
    h("label", { class: "labelled" }, h("span", null, words.say("field_avatar")), picture),
    h("div", { class: "row" }, h("button", { class: "primary" }, words.say("save"))),
  );
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const changed = await api.call("PUT", "/v1/users/me", { ...(isGuest || (me.username_set && name.value === me.name) ? {} : { name: name.value.trim() }), avatar_url: picture.value.trim() });
      api.keep({ ...api.session, user: { ...api.session.user, ...changed } });
      app.announce(words.say("saved"), true);
    } catch (error) {
      tell(error);
    }
  });
  return form;
}

function choice(/** @type {any} */ app, /** @type {string} */ kind, /** @type {boolean} */ isOn, /** @type {(error: any) => void} */ tell) {
  const box = h("input", { type: "checkbox", checked: isOn });
  box.addEventListener("change", () =>
    app.api.call("PUT", "/v1/notifications/settings", { [kind]: box.checked }).catch((/** @type {any} */ error) => {
      box.checked = !box.checked;
      tell(error);
    }),
  );
  return h("label", { class: "choice" }, box, app.words.say(`told_${kind}`));
}

function devices(/** @type {any} */ app, /** @type {any[]} */ sessions, /** @type {(error: any) => void} */ tell) {
  const { words, api } = app;
  return h(
    "ul",
    { class: "plain", role: "list" },
    sessions.map((session) => {
      const end = button(words.say("sign_out"), async () => {
        try {
          await api.call("DELETE", `/v1/users/me/sessions/${session.id}`);
          item.remove();
        } catch (error) {
          tell(error);
        }
      }, { class: "quiet" });
      const item = h(
        "li",
        { class: "row" },
        h("span", null, browser(session.user_agent), " ", h("span", { class: "muted" }, words.ago(Date.parse(session.last_used) / 1000))),
        session.is_current ? h("span", { class: "badge" }, words.say("this_device")) : end,
      );
      return item;
    }),
  );
}

/** "Firefox, Windows" says more than the whole line. @param {string} agent */
function browser(agent) {
  const name = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(agent)?.[1] ?? "Browser";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1] ?? "";
  return [{ Edg: "Edge", OPR: "Opera" }[name] ?? name, system.replace("Mac OS X", "macOS")].filter(Boolean).join(", ");
}

function people(/** @type {any} */ app, /** @type {any[]} */ users, /** @type {(error: any) => void} */ tell) {
  return h(
    "ul",
    { class: "plain", role: "list" },
    users.map((user) => {
      const free = button(app.words.say("unblock"), async () => {
        try {
          await app.api.call("DELETE", `/v1/users/${user.id}/block`);
          item.remove();
          app.reload({ quietly: true });
        } catch (error) {
          tell(error);
        }
      }, { class: "quiet" });
      const item = h("li", { class: "row" }, h("bdi", null, app.words.name(user.name)), free);
      return item;
    }),
  );
}

async function download(/** @type {any} */ app) {
  const data = await app.api.get("/v1/users/me/export");
  const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
  h("a", { href: url, download: "comments.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function leave(/** @type {any} */ app, /** @type {HTMLDialogElement} */ box) {
  await app.api.call("POST", "/v1/auth/logout").catch(() => {});
  app.api.keep(null);
  box.close();
  app.announce(app.words.say("signed_out"), true);
}

function end(/** @type {any} */ app, /** @type {HTMLDialogElement} */ box, /** @type {(error: any) => void} */ tell) {
  const { words } = app;
  const sure = dialog(app, words.say("delete_account"), [
    h("p", null, words.say("delete_account_sure")),
    h(
      "div",
      { class: "row" },
      button(words.say("confirm"), async () => {
        try {
          await app.api.call("DELETE", "/v1/users/me");
          app.api.keep(null);
          sure.close();
          box.close();
          app.announce(words.say("account_gone"), true);
        } catch (error) {
          tell(error);
        }
      }, { class: "danger" }),
      button(words.say("cancel"), () => sure.close(), { class: "quiet" }),
    ),
  ]);
}
