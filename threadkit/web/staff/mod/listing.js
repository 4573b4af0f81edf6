// Lists that go on: a first page, more at the press of a button, and what to say when there is nothing.

import { button, h } from "../ui.js";

/**
 * @param {import("../shell.js").App} app @param {HTMLElement} list
 * @param {(cursor: any) => Promise<{nodes: any[], next: any, note?: string}>} load what comes behind a cursor; the first time it is null
 * @param {() => any} nothing what stands there when nothing was found
 */
export async function listing(app, list, load, nothing) {
  const foot = h("div", { class: "foot" });
  list.after(foot);
  const go = async (/** @type {any} */ cursor) => {
    const { nodes, next, note } = await load(cursor);
    list.append(...nodes);
    const goOn = next ? button(app.words.say(note ? "search_on" : "load_more"), () => more(next, goOn)) : null;
    const said = note ? h("p", { class: "muted" }, note) : null;
    foot.replaceChildren(...(list.children.length || next ? [] : [nothing()]), ...(said ? [said] : []), ...(goOn ? [goOn] : []));
    return nodes;
  };
  const more = async (/** @type {any} */ cursor, /** @type {HTMLButtonElement} */ pressed) => {
    pressed.disabled = true;
    try {
      const nodes = await go(cursor);
      nodes[0]?.focus?.();
    } catch (error) {
      pressed.disabled = false;
      app.toast(app.sentence(error));
    }
  };
  await go(null);
}
