// Who somebody is: since when, how much, how liked. Opens on a name that is pointed at, focused or tapped.

import { h } from "./dom.js";
import { place } from "./place.js";
import { avatar } from "./view.js";

const HOVER_MS = 350;
const GRACE_MS = 200;
/** @type {WeakMap<any, () => void>} */
const open = new WeakMap();

/** @param {any} app @param {HTMLElement} anchor @param {any} comment @param {string} how the event that asked */
export function showCard(app, anchor, comment, how) {
  if (anchor.hasAttribute("aria-describedby")) return;
  if (how !== "pointerenter") return card(app, anchor, comment);
  const waiting = setTimeout(() => card(app, anchor, comment), HOVER_MS);
  anchor.addEventListener("pointerleave", () => clearTimeout(waiting), { once: true });
}

/** @param {any} app @param {HTMLElement} anchor @param {any} comment */
async function card(app, anchor, comment) {
  if (anchor.hasAttribute("aria-describedby") || !anchor.isConnected) return;
  open.get(app)?.();
  const { words } = app;
  const facts = h("span", { class: "muted" }, words.say("loading"));
  const box = h("div", { class: "card", part: "card", role: "tooltip", id: "tk-card" }, avatar(app, comment), h("div", null, h("strong", null, h("bdi", null, words.name(comment.name))), h("br"), facts));
  const until = new AbortController();
  const close = () => {
    until.abort();
    box.remove();
    anchor.removeAttribute("aria-describedby");
  };
  open.set(app, close);
  place(app, anchor, box);
  anchor.setAttribute("aria-describedby", "tk-card");
  closeWhen(app, anchor, box, close, until.signal);
  try {
    const person = await app.api.get(`/v1/users/${comment.author}`);
    const since = new Intl.DateTimeFormat(words.lang, { dateStyle: "long" }).format(new Date(person.created_at));
    facts.replaceChildren(words.say("card_since", { date: since }), h("br"), words.say("card_comments", { n: person.total_comments }), " · ", words.say("card_karma", { n: person.karma }));
  } catch {
    facts.textContent = words.say(words.isGuest(comment.name, comment.author) ? "card_guest" : "card_unknown");
  }
  if (box.isConnected) place(app, anchor, box);
}

/** It stays while the pointer is on it or on the name, and goes with Escape. @param {any} app @param {HTMLElement} anchor @param {HTMLElement} box @param {() => void} close @param {AbortSignal} signal */
function closeWhen(app, anchor, box, close, signal) {
  /** @type {any} */
  let leaving;
  for (const one of [anchor, box]) {
    one.addEventListener("pointerenter", () => clearTimeout(leaving), { signal });
    one.addEventListener("pointerleave", () => (leaving = setTimeout(close, GRACE_MS)), { signal });
  }
  anchor.addEventListener("blur", close, { signal });
  document.addEventListener("keydown", (event) => event.key === "Escape" && close(), { signal, capture: true });
  document.addEventListener("pointerdown", (event) => event.composedPath().includes(anchor) || event.composedPath().includes(box) || close(), { signal, capture: true });
}
