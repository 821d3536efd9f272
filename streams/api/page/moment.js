/*
 * A moment: how long ago or ahead, and when by the reader's clock; for programs, as the API said it.
 */

import { element } from "./dom.js";
import { duration, local, relative } from "./format.js";

/** A moment; a dash where there is none. */
export function moment(iso) {
  if (!iso) return element("span", { class: "quiet" }, "–");
  return element("time", { datetime: iso }, local(iso), " ", element("small", {}, relative(iso, Date.now())));
}

/** The same, in short: for a table, where the date is told by how long ago it is. */
export function shortMoment(iso) {
  if (!iso) return element("span", { class: "quiet" }, "–");
  return element("time", { datetime: iso, title: local(iso) }, relative(iso, Date.now()));
}

/** How long something has lasted since a moment. */
export function lasting(iso) {
  const length = duration(Math.max(Date.now() - Date.parse(iso), 0));
  return element("time", { datetime: iso, title: local(iso) }, `for ${length}`);
}
