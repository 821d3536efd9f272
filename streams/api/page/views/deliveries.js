/*
 * The deliveries in the log, newest events first, by endpoint, event, type, status and time.
 */

import { get } from "../api.js";
import { element } from "../dom.js";
import { choiceField, filters, textField, timeField } from "../filters.js";
import { emptyNotice } from "../notice.js";
import { pager } from "../pager.js";
import { region } from "../region.js";
import { deliveryTable } from "./delivery_table.js";

const EVERY_MS = 5_000;
const STATUSES = [
  ["", "any"],
  ["failed", "failed"],
  ["retrying", "retrying"],
  ["pending", "pending"],
  ["succeeded", "succeeded"],
  ["cancelled", "cancelled"],
];

export function deliveries({ query }, { wantToken }) {
  const given = (name) => query.get(name) ?? "";
  const fields = [
    textField("endpoint_id", "Endpoint", given("endpoint_id"), "ep_…"),
    textField("event_id", "Event id", given("event_id")),
    textField("event_type", "Event type", given("event_type"), "order.created"),
    choiceField("status", "Status", given("status"), STATUSES),
    timeField("since", "Committed since", given("since")),
    timeField("until", "Until", given("until")),
  ];
  const found = element("h2", { tabindex: "-1" }, "Found");
  const list = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get("v1/deliveries", Object.fromEntries(query), signal),
    draw: (page) => drawn(page, query),
  });
  return { title: "Deliveries", content: [filters("deliveries", fields), found, list.node], found, stop: list.stop };
}

function drawn({ items, next_cursor }, query) {
  const caption = "Deliveries, those of the newest events first";
  if (items.length) return [deliveryTable(items, caption), pager("deliveries", query, next_cursor)];
  if ([...query.keys()].length) return emptyNotice("No delivery in the log is like that.");
  const why = "The log is empty. A recorder writes it, once deliveries are made; the doctor says what is missing:";
  return emptyNotice(why, "outbox recorder", "outbox doctor");
}
