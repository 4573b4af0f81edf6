// Beside the embed in a frame: tells the page around it how high it is and where a comment stands that was asked for, and
// takes its theme and language.
(() => {
  "use strict";
  const originOf = (/** @type {string} */ address) => {
    try {
      const { origin, protocol } = new URL(address);
      return protocol === "https:" || protocol === "http:" ? origin : null;
    } catch {
      return null;
    }
  };
  const outside = originOf(document.referrer);
  const thread = document.querySelector("thread-kit");
  if (!outside || !thread || window.parent === window) return;

  let told = -1;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    window.parent.postMessage({ type: "threadkit:height", height }, outside);
  };
  new ResizeObserver(tell).observe(document.body);
  tell();
  thread.addEventListener("threadkit:shown", (event) => {
    const say = () => {
      tell();
      const comment = thread.shadowRoot?.getElementById(`comment-${/** @type {CustomEvent} */ (event).detail.id}`);
      if (!comment) return;
      const { top, height } = comment.getBoundingClientRect();
      window.parent.postMessage({ type: "threadkit:shown", top, height }, outside);
    };
    say();
    // Browsers draw no frame that nobody sees; once this one is seen, heights are no guesses any more.
    requestAnimationFrame(say);
  });

  /** @type {Record<string, RegExp>} */
  const settable = { theme: /^(auto|light|dark)$/, lang: /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/ };
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.origin !== outside) return;
    // Without an entry in the history, which is the page's.
    if (event.data?.type === "threadkit:goto" && /^[0-9a-f-]{36}$/.test(event.data.id)) location.replace(`#comment-${event.data.id}`);
    if (event.data?.type !== "threadkit:set") return;
    for (const [name, allowed] of Object.entries(settable)) {
      const value = event.data[name];
      if (typeof value === "string" && allowed.test(value)) thread.setAttribute(name, value);
    }
  });
})();
