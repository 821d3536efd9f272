/*
 * A table of replays: what is sent again, and how far it is.
 */

import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { count } from "../format.js";
import { shortMoment } from "../moment.js";
import { address } from "../router.js";
import { table } from "../table.js";
import { targetLink } from "./delivery_table.js";

/** `caption` is read out, not seen. */
export function replayTable(items, caption) {
  return table({
    caption,
    isQuiet: true,
    items,
    key: ({ id }) => id,
    columns: [
      { name: "Replay", isHead: true, cell: named },
      { name: "Target", cell: ({ target }) => (target ? targetLink(target) : "–") },
      { name: "Status", cell: ({ status }) => chip(status) },
      { name: "Read", cell: (one) => progress(one) },
      { name: "Sent", class: "number", cell: ({ sent }) => count(sent) },
      { name: "Asked for", cell: ({ requested_at }) => shortMoment(requested_at) },
      { name: "By", class: "words", cell: ({ requested_by }) => requested_by },
    ],
  });
}

function named({ id, kind }) {
  return [link(address("replays", { id }), kind), element("small", { class: "id" }, id)];
}

/** How far a replay is. */
export function progress({ events_read, events_to_read }) {
  if (!events_to_read) return element("span", {}, count(events_read ?? 0));
  const text = `${count(events_read)} of ${count(events_to_read)}`;
  return [element("progress", { max: events_to_read, value: events_read, "aria-label": "Events read" }), " ", element("small", {}, text)];
}
