/*
 * A table of deliveries.
 */

import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { count, target } from "../format.js";
import { shortMoment } from "../moment.js";
import { address } from "../router.js";
import { table } from "../table.js";

/** `caption` is read out, not seen: a heading stands above. */
export function deliveryTable(items, caption) {
  return table({
    caption,
    isQuiet: true,
    items,
    key: ({ id }) => id,
    columns: [
      { name: "Event", isHead: true, cell: named },
      { name: "Target", cell: (one) => targetLink(one.target) },
      { name: "Status", cell: ({ status }) => chip(status) },
      { name: "Attempts", class: "number", cell: ({ attempts }) => count(attempts) },
      { name: "Last", cell: ({ last_attempt_at }) => shortMoment(last_attempt_at) },
      { name: "Next", cell: ({ next_attempt_at }) => shortMoment(next_attempt_at) },
      { name: "Answer", class: "words", cell: answer },
    ],
  });
}

/** A target as a link, where it is an endpoint. */
export function targetLink(text) {
  const { kind, name } = target(text);
  if (kind !== "endpoint") return element("span", {}, element("span", { class: "quiet" }, `${kind} `), name);
  return link(address("endpoints", { id: name }), name);
}

function named({ id, event_id, event_type }) {
  return [link(address("deliveries", { id }), event_type), element("small", { class: "id" }, event_id)];
}

function answer({ http_status, error_code, error }) {
  const text = [http_status ? `HTTP ${http_status}` : "", error_code ?? "", error ?? ""].filter(Boolean).join(" · ");
  return element("span", { title: text }, text || "–");
}
