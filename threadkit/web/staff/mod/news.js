// Says that a list has got longer since it was loaded. Lists do not move under one's fingers by themselves.

import { button, h } from "../ui.js";

/** @param {import("../shell.js").App} app @param {import("./feed.js").Feed} feed @param {HTMLElement} list @param {"reports" | "appeals"} which @param {() => void} again @returns {() => void} what ends it */
export function tellOfNews(app, feed, list, which, again) {
  const until = new AbortController();
  const news = h("div", { class: "news", role: "status" });
  list.before(news);
  let before = feed.counts?.[which];
  const counted = (/** @type {any} */ { detail }) => {
    if (before !== undefined && detail[which] > before) news.replaceChildren(button(app.words.say(`${which}_new`), again, { class: "primary" }));
    before = detail[which];
  };
  feed.addEventListener("counts", counted, { signal: until.signal });
  return () => until.abort();
}
