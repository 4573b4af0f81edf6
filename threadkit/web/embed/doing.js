// What a reader does with a comment: reads on, votes, replies, and opens what belongs to it. Nobody needs it to see the
// first comments, so it comes after them.

import { h } from "./dom.js";

const WINDOW = "25";
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
  more.disabled = true;
  try {
    const query = new URLSearchParams({ ...app.page, sort: app.sort, limit: WINDOW, cursor: app.thread.next ?? "" });
    const answer = await app.api.get(`/v1/comments?${query}`);
    await app.drawn;
    const added = app.thread.take(answer, { isMore: true });
    if (!(await (app.drawn = app.draw(added)))) return;
    app.showFoot();
    app.views.get(added[0])?.article.focus();
    app.announce(app.words.say("loaded", { n: added.length }));
  } catch (error) {
    more.disabled = false;
    app.complain(error);
  }
}

/** @param {any} app @param {string} id @param {HTMLButtonElement} show */
export async function loadReplies(app, id, show) {
  const comment = app.thread.comments.get(id);
  if (!comment) return;
  show.disabled = true;
  try {
    const query = new URLSearchParams({ sort: app.sort, ...(comment.cursor ? { cursor: comment.cursor } : {}) });
    const answer = await app.api.get(`/v1/comments/${id}/replies?${query}`);
    await app.drawn;
    const added = app.thread.takeReplies(id, answer);
    app.views.get(id)?.replies(comment);
    if (await (app.drawn = app.draw(added))) app.views.get(added[0])?.article.focus();
  } catch (error) {
    show.disabled = false;
    app.complain(error);
  }
}

/** @typedef {import("./thread.js").Comment} Comment */
/** @typedef {Pick<Comment, "up" | "down" | "vote">} Votes */
/** @typedef {{clicks: number, at: number, known: Votes, shown: Votes}} Own clicks without an answer, when the last answer came, what the server said, what is seen */

/** @type {Map<string, Promise<any>>} on their way */
const votes = new Map();

/** What a click changes at once, also in a thread that was asked for before it. Returns what takes the server's answer, or else takes the click back. @param {import("./thread.js").Thread} thread @param {Comment} comment @param {"up" | "down"} direction */
function show(thread, comment, direction) {
  const { id, up, down, vote } = comment;
  /** @type {Own} */
  const own = thread.own.get(id) ?? { clicks: 0 };
  if (!own.clicks++) own.known = { up, down, vote };
  own.at = Infinity;
  const shown = (own.shown = { up, down, vote: vote === direction ? null : direction });
  if (vote) shown[vote] -= 1;
  if (shown.vote) shown[shown.vote] += 1;
  thread.own.set(id, own);
  Object.assign(comment, shown);
  return (counted = own.known) => {
    own.known = counted;
    if (--own.clicks) return; // the answer to a later click is on its way
    own.at = performance.now();
    Object.assign(thread.comments.get(id) ?? {}, (own.shown = counted));
  };
}

/** @param {any} app @param {string} id @param {"up" | "down"} direction */
export async function vote(app, id, direction) {
  const comment = (await app.person("vote")) && app.thread.comments.get(id);
  if (!comment) return;
  const settle = show(app.thread, comment, direction);
  app.refresh(id);
  // Clicks on one comment are answered in their order; whoever clicks a link right afterwards has voted all the same.
  const cast = () => app.api.call("POST", `/v1/comments/${id}/vote`, { direction }, { keepalive: true });
  const answer = votes.get(id)?.then(cast) ?? cast();
  votes.set(id, answer);
  try {
    const counted = await answer;
    settle({ up: counted.upvotes, down: counted.downvotes, vote: counted.user_vote });
    app.tell("voted", { id, vote: counted.user_vote });
  } catch (error) {
    settle();
    app.complain(error);
  }
  if (votes.get(id) === answer) votes.delete(id);
  app.refresh(id);
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
  (await import("./account.js")).openAccount(app, anchor);
}

/** @param {any} app @param {HTMLElement} anchor */
export async function openNotifications(app, anchor) {
  (await import("./account.js")).openNotifications(app, anchor);
}

/** Somebody for whom the page around us vouches. @param {any} app @param {string} token */
export async function welcome(app, token) {
  try {
    app.api.keep(await app.api.call("POST", "/v1/auth/sso", { token }));
  } catch (error) {
    app.complain(error);
  }
}
