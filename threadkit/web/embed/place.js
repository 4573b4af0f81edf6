// Where small things open: beside what opened them, and never outside of the window.

const GAP_PX = 4;

/** @param {any} app @param {HTMLElement} anchor @param {HTMLElement} box */
export function place(app, anchor, box) {
  app.layer.append(box);
  const [frame, at, size] = [app.root, anchor, box].map((one) => one.getBoundingClientRect());
  const start = app.words.dir === "rtl" ? at.right - size.width : at.left;
  const left = Math.max(frame.left, Math.min(start, frame.right - size.width));
  const isTooLow = at.bottom + GAP_PX + size.height > innerHeight && at.top > size.height + GAP_PX;
  const top = isTooLow ? at.top - GAP_PX - size.height : at.bottom + GAP_PX;
  box.style.left = `${left - frame.left}px`;
  box.style.top = `${top - frame.top}px`;
}
