/*
 * The overview: what waits, tier by tier, as it fills and drains; which endpoints need somebody; what failed last.
 */

import { get } from "../api.js";
import { element, link } from "../dom.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { gauge, history, tierBars } from "../tier_bars.js";
import { deliveryTable } from "./delivery_table.js";
import { endpointTable, needsSomebody, noEndpoints } from "./endpoint_table.js";
import { replayTable } from "./replay_table.js";

const TIERS_MS = 2_000;
const LISTS_MS = 5_000;
const FAILURES = 8;
const MOST = 200;
const EVENTS = ["event", "events"];
const DELIVERIES = ["delivery", "deliveries"];

export function overview(_, { wantToken }) {
  const past = history();
  const regions = [
    region({ every_ms: TIERS_MS, wantToken, ask: (signal) => tiers(signal, past), draw: (answer) => queues(answer, past) }),
    region({ every_ms: LISTS_MS, wantToken, ask: (signal) => get("v1/endpoints", { limit: MOST }, signal), draw: attention }),
    region({
      every_ms: LISTS_MS,
      wantToken,
      ask: (signal) => get("v1/deliveries", { status: "failed,retrying", limit: FAILURES }, signal),
      draw: failures,
    }),
    region({ every_ms: LISTS_MS, wantToken, ask: (signal) => get("v1/replays", { limit: FAILURES }, signal), draw: underWay }),
  ];
  const titles = ["What waits", "Endpoints that need somebody", "Newest trouble", "Replays"];
  return {
    title: "Overview",
    content: regions.map(({ node }, index) => element("section", {}, element("h2", {}, titles[index]), node)),
    stop: () => regions.forEach((one) => one.stop()),
  };
}

async function tiers(signal, past) {
  const answer = await get("v1/tiers", {}, signal);
  answer.items.forEach(({ topic, waiting }) => past.add(topic, waiting));
  past.add("events", answer.events.waiting);
  past.add("redelivery", answer.redelivery.waiting);
  past.add("tiers", sum(answer.items));
  return answer;
}

function queues({ items, events, redelivery }, past) {
  return [
    element(
      "div",
      { class: "gauges" },
      gauge(events.waiting, EVENTS, "committed, and not yet settled by a worker", past.of("events")),
      gauge(sum(items), DELIVERIES, "parked in the retry tiers", past.of("tiers")),
      gauge(redelivery.waiting, DELIVERIES, "due, and on the way back to a worker", past.of("redelivery")),
    ),
    tierBars(items, past),
  ];
}

function attention({ items, unreadable, next_cursor }) {
  const few = items.filter((one) => needsSomebody(one, Date.now()));
  const more = next_cursor ? `Of the first ${MOST} endpoints. ` : "";
  if (!items.length && !unreadable.length) {
    return noEndpoints();
  }
  return [
    few.length ? endpointTable(few, "Endpoints that need somebody") : quiet("None has been failing for a minute or longer, and none was disabled for that."),
    unreadable.length ? element("p", {}, `${unreadable.length} can't be read: `, link(address("endpoints"), "see the list"), ".") : null,
    quiet(more, link(address("endpoints"), "All endpoints")),
  ];
}

function failures({ items }) {
  if (!items.length) return quiet("No delivery in the log has failed, and none is being retried.");
  return [
    deliveryTable(items, "Deliveries that failed or are retried, those of the newest events first"),
    quiet(ofStatus("failed", "All that failed"), " · ", ofStatus("retrying", "all that are retried")),
  ];
}

function ofStatus(status, text) {
  return link(address("deliveries", { query: { status } }), text);
}

function underWay({ items }) {
  const now = items.filter(({ status }) => status === "waiting" || status === "running");
  if (!now.length) return quiet("None is under way. ", link(address("replays"), "Those that were"));
  return replayTable(now, "Replays under way");
}

function quiet(...parts) {
  return element("p", { class: "quiet" }, parts);
}

function sum(items) {
  return items.reduce((total, { waiting }) => total + waiting, 0);
}
