/*
 * An address that names no view.
 */

import { element, link } from "../dom.js";

export function missing() {
  const content = element("p", {}, "Begin at the ", link("#/overview", "overview"), ".");
  return { title: "There is no such view", content };
}
