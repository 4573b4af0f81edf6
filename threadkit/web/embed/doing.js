// What a reader does with a comment: reads on, votes, replies, and opens what belongs to it. Nobody needs it to see the
// first comments, so it comes after them.

import { count, takeReplies } from "./changes.js";
import { button, h } from "./dom.js";

const WINDOW = "25";
const VOTES_AGAIN_MS = 10_000;
const LOOK_AGAIN_MS = 10_000;

/** Say that these comments are a copy from before an outage, and look again until they are not. @param {any} app @param {string | null} age in seconds */
export function asOf(app, age) {
  if (age === null) {
    app.copy?.remove();
    app.copy = null;
    return;
  }
  if (!app.copy?.isConnected) {
    const line = (app.copy = h("p", { class: "notice muted", role: "status" }));
    app.notice.after(line);
    const again = setInterval(
      () => (line.isConnected ? app.reload({ quietly: true }) : clearInterval(again)),
      LOOK_AGAIN_MS * (1 + Math.random()),
    );
  }
  app.copy.textContent = app.words.say("stale", { when: app.words.ago(Date.now() / 1000 - Number(age)) });
}

/** @param {any} app @param {HTMLButtonElement} more */
export async function readOn(app, more) {
  const { thread } = app;
  more.disabled = true;
  try {
    const query = new URLSearchParams({ ...thread.page, sort: thread.sort, limit: WINDOW, cursor: thread.next ?? "" });
    const answer = await app.ask(`/v1/comments?${query}`);
    if (!answer) return;
    const added = thread.take(answer, { isMore: true });
    await grow(app, added);
    app.announce(app.words.say("loaded", { n: added.length }));
  } catch (error) {
    more.disabled = false;
    app.complain(error);
  }
}

/** @param {any} app @param {string} id @param {HTMLButtonElement} show */
export async function loadReplies(app, id, show) {
  const { thread } = app;
  const comment = thread.comments.get(id);
  if (!comment) return;
  show.disabled = true;
  const { version } = thread;
  try {
    const query = new URLSearchParams({ sort: thread.sort, ...(comment.cursor ? { cursor: comment.cursor } : {}) });
    const answer = await app.ask(`/v1/comments/${id}/replies?${query}`);
    if (!answer) return;
    const added = takeReplies(thread, id, answer);
    // What changed meanwhile may not be in it.
    thread.isBehind = thread.version > version;
    if (thread.isBehind) thread.version = version;
    app.refresh(id);
    await grow(app, added);
  } catch (error) {
    show.disabled = false;
    app.complain(error);
  }
}

/** Put what was read on on the screen, and the focus to its beginning. @param {any} app @param {string[]} added */
async function grow(app, added) {
  app.live?.taken();
  await app.drawn;
  if (!(await (app.drawn = app.draw(added)))) return;
  app.showFoot();
  app.views.get(added[0])?.article.focus();
}

/** @type {Map<string, Promise<any>>} on their way */
const votes = new Map();

/** @param {any} app @param {string} id @param {"up" | "down"} direction */
export async function vote(app, id, direction) {
  if (!(await app.person("vote"))) return;
  const { thread } = app;
  const comment = thread.comments.get(id);
  if (!comment) return;
  const pending = thread.pending.get(id) ?? { clicks: 0, up: comment.up, down: comment.down, version: thread.version };
  pending.clicks += 1;
  thread.casts += 1;
  thread.pending.set(id, pending);
  if (comment.vote) comment[comment.vote] -= 1;
  comment.vote = comment.vote === direction ? null : direction;
  if (comment.vote) comment[comment.vote] += 1;
  app.refresh(id);
  // Clicks on one comment are answered in their order; whoever clicks a link right afterwards has voted all the same.
  const cast = () => app.api.call("POST", `/v1/comments/${id}/vote`, { direction }, { keepalive: true });
  const answer = votes.get(id)?.then(cast, cast) ?? cast();
  votes.set(id, answer);
  try {
    const counted = await answer;
    thread.mine[id] = counted.user_vote;
    thread.casts += 1;
    count(thread, id, counted.upvotes, counted.downvotes, counted.version);
    app.tell("voted", { id, vote: counted.user_vote });
  } catch (error) {
    app.complain(error);
    ownVotes(app); // perhaps it was counted all the same
  }
  if (votes.get(id) === answer) votes.delete(id);
  pending.clicks -= 1;
  if (!pending.clicks) Object.assign(thread.comments.get(id) ?? {}, { up: pending.up, down: pending.down, vote: thread.mine[id] ?? null });
  app.refresh(id);
}

/** One's own votes, which no thread says. @param {any} app @returns {Promise<void>} */
export async function ownVotes(app) {
  const { thread } = app;
  const { casts } = thread;
  if (!app.api.session) return;
  try {
    const answer = await app.ask(`/v1/pages/my_votes?${thread.query}`);
    if (!answer) return;
    if (casts !== thread.casts) return ownVotes(app);
    thread.mine = answer.votes;
    for (const [id, comment] of thread.comments) {
      if (comment.vote === (thread.mine[id] ?? null) || thread.pending.get(id)?.clicks) continue;
      comment.vote = thread.mine[id] ?? null;
      app.refresh(id);
    }
  } catch (/** @type {any} */ error) {
    if (error.status < 500) return;
    setTimeout(() => app.isConnected && thread === app.thread && ownVotes(app), VOTES_AGAIN_MS);
  }
}

/** @param {any} app @param {string} id */
export async function reply(app, id) {
  const { Composer } = await import("./composer.js");
  app.replying?.close();
  const view = app.views.get(id);
  if (!view) return;
  app.replying = new Composer(app, { parent: id });
  view.slot.replaceChildren(app.replying.element);
  app.replying.focus();
}

/** Ask how many notices wait. @param {any} app */
export async function countNotices(app) {
  const me = await app.api.get("/v1/users/me").catch(() => null);
  if (me && me.id === app.api.user?.id) unread(app, me.unread_notifications);
}

/** @param {any} app @param {number} count how many notices wait */
export function unread(app, count) {
  const badge = /** @type {HTMLElement} */ (app.bell.querySelector(".unread"));
  badge.hidden = !count;
  badge.textContent = count ? app.words.numbers.format(count) : "";
  app.bell.setAttribute("aria-label", count ? app.words.say("unread", { n: count }) : app.words.say("notifications"));
  app.unreadCount = count;
}

/** "A minute ago" becomes "two minutes ago". @param {any} app */
export function tick(app) {
  for (const [id, view] of app.views) {
    const comment = app.thread.comments.get(id);
    const time = view.head.querySelector("time");
    if (comment && time) time.textContent = app.words.ago(comment.created);
  }
}

/** @param {any} app @param {HTMLElement} anchor @param {string} id */
export async function openMenu(app, anchor, id) {
  (await import("./menu.js")).openMenu(app, anchor, id);
}

/** @param {any} app @param {HTMLElement} anchor @param {Event} event @param {any} comment */
export async function showCard(app, anchor, event, comment) {
  // A finger does not hover, and what a click focuses is shown by the click.
  if (event.type === "pointerenter" ? /** @type {PointerEvent} */ (event).pointerType !== "mouse" : event.type === "focus" && !anchor.matches(":focus-visible")) return;
  (await import("./card.js")).showCard(app, anchor, comment, event.type);
}

/** @param {any} app @param {HTMLElement} anchor */
export async function openAccount(app, anchor) {
  if (!app.api.session) return void app.person();
  const account = await import("./account.js");
  if (!hasDialog(app)) account.openAccount(app, anchor);
}

/** @param {any} app @param {HTMLElement} anchor */
export async function openNotifications(app, anchor) {
  const account = await import("./account.js");
  if (!hasDialog(app)) account.openNotifications(app, anchor);
}

/** Whoever clicks twice before a dialog is there wants one. */
function hasDialog(/** @type {any} */ app) {
  return Boolean(app.layer.querySelector("dialog"));
}

/** Show a comment, wherever it is in the thread. @param {any} app @param {string} id */
export async function goTo(app, id) {
  if (app.thread.comments.has(id)) await app.drawn;
  const view = app.views.get(id);
  if (!view) return missed(app, id);
  for (const above of app.thread.path(id).slice(0, -1)) if (app.views.get(above)?.isCollapsed) app.views.get(above)?.collapse(false);
  app.list.querySelectorAll(".highlight").forEach((/** @type {HTMLElement} */ one) => one.classList.remove("highlight"));
  view.article.classList.add("highlight");
  view.article.focus({ preventScroll: true });
  // What is far away has no layout until it has the focus, and on a slow way there heights that were guessed would change.
  requestAnimationFrame(() => {
    const isFar = Math.abs(view.article.getBoundingClientRect().top) > 3 * innerHeight;
    view.article.scrollIntoView({ block: "center", behavior: isFar || matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  });
  app.tell("shown", { id });
}

/** A permalink leads nowhere when no thread of this page has the comment. @param {any} app @param {string} id */
function missed(app, id) {
  if (app.permalink !== id) return;
  app.missed = id;
  const threads = /** @type {any[]} */ ([...document.querySelectorAll("thread-kit")]);
  if (threads.every((one) => one.missed === id)) app.announce(app.words.say("comment_gone"), true);
}

/** For those who look. @param {any} app @param {string} text @param {{label: string, then: () => void}} [action] */
export function toast(app, text, action) {
  app.layer.querySelector(".toast")?.remove();
  const toast = h("div", { class: "toast", part: "toast" }, text, action && button(action.label, () => (toast.remove(), action.then()), { class: "quiet" }));
  app.layer.append(toast);
  setTimeout(() => toast.remove(), action ? 8000 : 5000);
}

/** Somebody for whom the page around us vouches, whoever was here before; without a token, nobody. @param {any} app @param {string | null} token */
export async function welcome(app, token) {
  const { api } = app;
  const subject = token ? subjectOf(token) : null;
  if (subject ? api.session?.sso === subject : !api.session?.sso) return;
  try {
    api.keep(subject ? { ...(await api.call("POST", "/v1/auth/sso", { token })), sso: subject } : null);
  } catch (error) {
    api.keep(null);
    app.complain(error);
  }
}

/** Whom a token is about; the server looks at the rest of it. @param {string} token */
function subjectOf(token) {
  try {
    return String(JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).sub);
  } catch {
    return token;
  }
}
