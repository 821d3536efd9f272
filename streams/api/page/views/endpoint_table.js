/*
 * A table of endpoints, with how each is.
 */

import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { place } from "../format.js";
import { shortMoment } from "../moment.js";
import { address } from "../router.js";
import { table } from "../table.js";

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

/** Whether an endpoint is failing, or was disabled by the system. */
export function needsSomebody({ enabled, disabled_reason, health }) {
  return (enabled && health.state === "failing") || (!enabled && disabled_reason !== null);
}

/** Enabled, or disabled and why. */
export function state({ enabled, disabled_reason }) {
  if (enabled) return chip("enabled");
  return chip("disabled", WHY[disabled_reason] ? `disabled: ${WHY[disabled_reason]}` : "disabled");
}

function healthOf({ health }) {
  return [chip(health.state), health.failing_since ? [" ", element("small", {}, "since "), shortMoment(health.failing_since)] : null];
}

function named({ id, url, description }) {
  return [link(address("endpoints", { id }), place(url)), element("small", { class: "id" }, id), description ? element("small", {}, description) : null];
}
