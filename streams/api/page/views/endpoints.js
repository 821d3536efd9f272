/*
 * The endpoints, oldest first, with their health.
 */

import { get } from "../api.js";
import { element } from "../dom.js";
import { pager } from "../pager.js";
import { region } from "../region.js";
import { endpointTable, noEndpoints } from "./endpoint_table.js";

const EVERY_MS = 5_000;

export function endpoints({ query }, { wantToken }) {
  const list = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get("v1/endpoints", Object.fromEntries(query), signal),
    draw: (page) => drawn(page, query),
  });
  return { title: "Endpoints", content: list.node, stop: list.stop };
}

function drawn({ items, unreadable, next_cursor }, query) {
  if (!items.length && !unreadable.length && !query.get("cursor")) return noEndpoints();
  return [endpointTable(items, "Endpoints, oldest first"), spoilt(unreadable), pager("endpoints", query, next_cursor)];
}

function spoilt(unreadable) {
  if (!unreadable.length) return null;
  return element(
    "div",
    { class: "notice wrong" },
    element(
      "p",
      {},
      "These are stored in a form that is refused now, and are sent nothing new. Change what is named, or delete them:",
    ),
    element("ul", {}, unreadable.map(({ id, detail }) => element("li", {}, element("code", {}, id), ": ", detail))),
  );
}
