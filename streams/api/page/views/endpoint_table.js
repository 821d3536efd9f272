/*
 * A table of endpoints, with how each is.
 */

import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { place } from "../format.js";
import { lasting, shortMoment } from "../moment.js";
import { emptyNotice } from "../notice.js";
import { address } from "../router.js";
import { table } from "../table.js";

const A_MOMENT_MS = 60_000;
const WHY = { gone: "it answered 410", failing: "it failed for too long" };

/** `caption` is read out, not seen. */
export function endpointTable(items, caption) {
  return table({
    caption,
    isQuiet: true,
    items,
    key: ({ id }) => id,
    columns: [
      { name: "Endpoint", isHead: true, cell: named },
      { name: "Events", class: "words", cell: ({ event_types }) => event_types.join(", ") },
      { name: "State", cell: state },
      { name: "Health", cell: healthOf },
      { name: "Last success", cell: ({ health }) => shortMoment(health.last_success_at) },
      { name: "Last failure", cell: ({ health }) => shortMoment(health.last_failure_at) },
    ],
  });
}

/** What to do where there is none. */
export function noEndpoints() {
  const add = "outbox endpoints add https://receiver.example/in --events 'order.*'";
  return emptyNotice("There are no endpoints yet. Add one:", add);
}

/** Whether an endpoint has been failing for longer than a moment, or was disabled by the system. */
export function needsSomebody({ enabled, disabled_reason, health }, now_ms) {
  if (!enabled) return disabled_reason !== null;
  return health.state === "failing" && now_ms - Date.parse(health.failing_since) >= A_MOMENT_MS;
}

/** Enabled, or disabled and why. */
export function state({ enabled, disabled_reason }) {
  if (enabled) return chip("enabled");
  return chip("disabled", WHY[disabled_reason] ? `disabled: ${WHY[disabled_reason]}` : "disabled");
}

function healthOf({ health }) {
  return [chip(health.state), " ", health.failing_since ? lasting(health.failing_since) : null];
}

function named({ id, url, description }) {
  const said = description ? element("small", { class: "words" }, description) : null;
  return [link(address("endpoints", { id }), place(url)), element("small", { class: "id" }, id), said];
}
