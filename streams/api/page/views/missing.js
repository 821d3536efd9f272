/*
 * An address that names no view.
 */

import { element, link } from "../dom.js";

export function missing() {
  return { title: "There is no such view", content: element("p", {}, "Begin at the ", link("#/overview", "overview"), ".") };
}
