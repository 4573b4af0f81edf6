// Beside the embed in a frame: tells the page around it how high it is, and takes its theme and language.
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

  /** @type {Record<string, RegExp>} */
  const settable = { theme: /^(auto|light|dark)$/, lang: /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/ };
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.origin !== outside || event.data?.type !== "threadkit:set") return;
    for (const [name, allowed] of Object.entries(settable)) {
      const value = event.data[name];
      if (typeof value === "string" && allowed.test(value)) thread.setAttribute(name, value);
    }
  });
})();
