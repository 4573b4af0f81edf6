// Building elements. Text goes in as text; the only HTML is what the server has cleaned.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, any> | null} [props] attributes; `on…` are listeners, false and null are left out
 * @param {...any} children
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return /** @type {any} */ (element);
}

const PATHS = {
  up: "M12 5l7 8h-4v6H9v-6H5z",
  down: "M12 19l-7-8h4V5h6v6h4z",
  more: "M5 10.5a1.5 1.5 0 110 3 1.5 1.5 0 010-3zm7 0a1.5 1.5 0 110 3 1.5 1.5 0 010-3zm7 0a1.5 1.5 0 110 3 1.5 1.5 0 010-3z",
  bell: "M12 3a6 6 0 00-6 6v4l-2 3h16l-2-3V9a6 6 0 00-6-6zm-2 15a2 2 0 004 0z",
  person: "M12 12a4 4 0 100-8 4 4 0 000 8zm0 2c-4 0-8 2-8 5v1h16v-1c0-3-4-5-8-5z",
  close: "M6.4 5L5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z",
  pin: "M9 3h6l-1 6 4 4v2h-5v6l-1 1-1-1v-6H6v-2l4-4z",
  bold: "M7 5h6a3.5 3.5 0 012 6.4A3.8 3.8 0 0113.5 19H7zm3 2.5v3h2.5a1.5 1.5 0 000-3zm0 5.5v3.5h3a1.7 1.7 0 000-3.5z",
  italic: "M10 5h8v2.4h-2.9l-3.2 9.2H15V19H6v-2.4h3l3.2-9.2H10z",
  link: "M10.6 13.4a1 1 0 010-1.4l3.5-3.5a3 3 0 114.2 4.2l-2 2a1 1 0 11-1.4-1.4l2-2a1 1 0 00-1.4-1.4L12 13.4a1 1 0 01-1.4 0zm2.8-2.8a1 1 0 010 1.4l-3.5 3.5a3 3 0 11-4.2-4.2l2-2a1 1 0 111.4 1.4l-2 2a1 1 0 001.4 1.4l3.5-3.5a1 1 0 011.4 0z",
  code: "M8.7 7.3L4 12l4.7 4.7 1.4-1.4L6.8 12l3.3-3.3zm6.6 0L13.9 8.7l3.3 3.3-3.3 3.3 1.4 1.4L20 12z",
  quote: "M6 7h5v5c0 3-1.5 5-4 5v-2c1.2 0 2-1 2-2.5H6zm8 0h5v5c0 3-1.5 5-4 5v-2c1.2 0 2-1 2-2.5h-3z",
  list: "M4 6h2v2H4zm4 0h12v2H8zM4 11h2v2H4zm4 0h12v2H8zm-4 5h2v2H4zm4 0h12v2H8z",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** @type {{createHTML(text: string): any} | undefined} */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("threadkit", { createHTML: (/** @type {string} */ text) => text });

/** What the server has cleaned, as nodes; also where the page demands trusted types. @param {string} text */
export function cleaned(text) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(text) : text;
  for (const link of template.content.querySelectorAll("a[href]")) link.setAttribute("target", "_blank");
  return template.content;
}

/** Only addresses that can be followed safely. @param {string | null | undefined} url */
export function webAddress(url) {
  return url && /^https?:\/\//i.test(url) ? url : null;
}

/** A button with words. @param {string} text @param {(event: Event) => void} then @param {Record<string, any>} [props] */
export function button(text, then, props) {
  return h("button", { type: "button", ...props, onclick: then }, text);
}
