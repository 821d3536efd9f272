/*
 * A notice: what went wrong, what to do about it, and the id under which the API's log has it.
 */

import { element } from "./dom.js";

/** A problem, with what is said beside it. */
export function problemNotice(problem, { after = "" } = {}) {
  return element(
    "div",
    { class: "notice wrong" },
    element(
      "p",
      {},
      element("strong", {}, problem.title ?? "This page met a defect"),
      `: ${problem.detail ?? problem.message} ${after}`,
    ),
    fields(problem.errors ?? []),
    problem.requestId && element("p", { class: "quiet" }, "Request id ", element("code", {}, problem.requestId)),
  );
}

/** What to do where there is nothing yet. */
export function emptyNotice(text, ...commands) {
  return element(
    "div",
    { class: "notice" },
    element("p", {}, text),
    commands.map((command) => element("pre", {}, element("code", {}, command))),
  );
}

function fields(errors) {
  if (!errors.length) return null;
  const named = (error) => error.parameter ?? error.header ?? error.pointer;
  return element(
    "ul",
    {},
    errors.map((error) => element("li", {}, element("code", {}, named(error)), ": ", error.detail)),
  );
}
