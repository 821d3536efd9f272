/*
 * Brings what is seen to what is to be seen, with as few changes as it takes.
 *
 * An element that stays is the same element afterwards: it keeps focus, scrolling, selection and what was typed. Children
 * with a `data-key` are told apart by it, others by their place. What a person opened stays open. A tick is as it is drawn:
 * whoever draws a box knows what is chosen, and what is acted upon must be what is seen.
 */

const LISTENERS = ["onclick", "onchange", "oninput", "onsubmit"];
const THEIR_OWN = new Set(["open"]);
/** What a box shows once somebody has used it: its attributes only say how it began. */
const TICKS = ["checked", "indeterminate"];

/** Make the children of `live` those of `wanted`, which is used up by it. */
export function morph(live, wanted) {
  const kept = new Set([...wanted.children].map(keyOf).filter(Boolean));
  const byKey = new Map();
  for (const child of [...live.children]) {
    const key = keyOf(child);
    if (key && kept.has(key)) byKey.set(key, child);
    else if (key) child.remove();
  }
  let place = live.firstChild;
  for (const next of [...wanted.childNodes]) {
    const found = keyOf(next) ? byKey.get(keyOf(next)) : place;
    if (found && isAlike(found, next)) {
      if (found === place) place = place.nextSibling;
      else live.insertBefore(found, place);
      update(found, next);
    } else {
      live.insertBefore(next, place);
    }
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

function update(live, wanted) {
  if (live.nodeType !== Node.ELEMENT_NODE) {
    if (live.data !== wanted.data) live.data = wanted.data;
    return;
  }
  for (const { name } of [...live.attributes]) {
    if (name !== "style" && !THEIR_OWN.has(name) && !wanted.hasAttribute(name)) live.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (name !== "style" && !THEIR_OWN.has(name) && live.getAttribute(name) !== value) live.setAttribute(name, value);
  }
  if (live.style.cssText !== wanted.style.cssText) live.style.cssText = wanted.style.cssText;
  for (const name of LISTENERS) live[name] = wanted[name];
  if (live.type === "checkbox" || live.type === "radio") {
    for (const name of TICKS) live[name] = wanted[name];
  }
  morph(live, wanted);
}

function isAlike(live, wanted) {
  return live.nodeName === wanted.nodeName && keyOf(live) === keyOf(wanted);
}

function keyOf(node) {
  return node.dataset ? node.dataset.key : undefined;
}
