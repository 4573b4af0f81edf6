// Letters that do something while nobody writes.

/** j and k walk through the comments, r replies, u votes up. @param {any} app @param {KeyboardEvent} event */
export function pressed(app, event) {
  const focused = /** @type {HTMLElement} */ (event.composedPath()[0]);
  if (event.ctrlKey || event.metaKey || event.altKey || focused.closest("textarea, input, select, dialog, [role=menu]")) return;
  const shown = /** @type {HTMLElement[]} */ ([...app.list.querySelectorAll("article")]).filter((one) => one.offsetParent !== null);
  const at = shown.findIndex((one) => one.contains(focused));
  const id = shown[at]?.dataset.id;
  if (event.key === "j" || event.key === "k") (shown[event.key === "j" ? at + 1 : Math.max(0, at - 1)] ?? shown.at(-1))?.focus();
  else if (event.key === "r" && id && !app.isClosed) app.do("reply", id);
  else if (event.key === "u" && id) app.do("vote", id, "up");
  else return;
  event.preventDefault();
}
