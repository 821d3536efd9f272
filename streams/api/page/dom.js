/*
 * What is to be seen, described: elements with attributes, listeners and children.
 *
 * Whatever is given as a child becomes a text node unless it is a node: no text becomes markup. Listeners are properties
 * (`onclick`), so that `morph` can hand them on. Styles are custom properties, set one by one: the page's policy allows
 * no style attribute.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: `element("p", { class: "quiet" }, "text", node, [more])`. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A link to a view of this page, or to a part of one. */
export function link(address, ...children) {
  return element("a", { href: address }, ...children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(node, name, value);
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "key") node.dataset.key = value;
  else if (name.startsWith("on")) node[name] = value;
  else if (name === "style") Object.entries(value).forEach(([property, text]) => node.style.setProperty(property, text));
  else node.setAttribute(name, value === true ? "" : value);
}
