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

/** @param {string} path what is drawn, on a field of 24 by 24 */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
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

/** Put nodes in a place and touch only what differs, so that what has the focus or is being pressed stays. What listens has a `data-action`, and answers by it. @param {Element} place @param {Node[]} nodes */
export function renew(place, nodes) {
  nodes.forEach((/** @type {any} */ node, at) => {
    const old = /** @type {any} */ (place.childNodes[at]);
    if (!old) place.append(node);
    else if (old.isEqualNode(node)) return;
    else if (!node.dataset || node.tagName !== old.tagName || node.dataset.action !== old.dataset.action) old.replaceWith(node);
    else {
      for (const { name } of [...old.attributes]) if (!node.hasAttribute(name) && name !== "aria-describedby") old.removeAttribute(name);
      for (const { name, value } of node.attributes) old.setAttribute(name, value);
      renew(old, [...node.childNodes]);
    }
  });
  while (place.childNodes.length > nodes.length) place.lastChild?.remove();
}

/** A button with words. @param {string} text @param {(event: Event) => void} then @param {Record<string, any>} [props] */
export function button(text, then, props) {
  return h("button", { type: "button", ...props, onclick: then }, text);
}
