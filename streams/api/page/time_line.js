/*
 * A delivery's turns as a time line: a list, and above it the same drawn on an axis of time.
 */

import { chip, kindOf } from "./chip.js";
import { element, link } from "./dom.js";
import { duration } from "./format.js";
import { moment } from "./moment.js";
import { address } from "./router.js";
import { timeAxis } from "./time_axis.js";

const CROWDED = 25;

/** The time line of a delivery, as `/v1/deliveries/{id}` answers it. */
export function timeLine(delivery) {
  const turns = delivery.attempts_made;
  const next = delivery.next_attempt_at ? Date.parse(delivery.next_attempt_at) : null;
  const above = turns.length ? axis(turns, delivery, next) : null;
  return element("div", { class: "time-line" }, above, list(turns, delivery, next));
}

function axis(turns, delivery, next) {
  const begins = turns.map(({ started_at }) => Date.parse(started_at));
  const ends = turns.map(({ duration_ms }, index) => begins[index] + duration_ms);
  const start = Math.min(Date.parse(delivery.created_at), ...begins);
  const { at, marks, isEven } = timeAxis(start, Math.max(...ends, next ?? 0));
  const placed = (from, to = from) => ({ "--at": `${at(from)}%`, "--wide": `${at(to) - at(from)}%` });
  return element(
    "div",
    { class: "axis", "aria-hidden": "true" },
    element("div", { class: "rail" }),
    turns.map(({ outcome }, index) => {
      return element("span", { class: `turn ${kindOf(outcome)}`, style: placed(begins[index], ends[index]) });
    }),
    next ? element("span", { class: "turn next", style: placed(next) }) : null,
    marks.map((mark) => {
      const kind = mark.at < CROWDED ? "mark crowded" : "mark";
      return element("span", { class: kind, style: { "--at": `${mark.at}%` } }, mark.text);
    }),
    element("span", { class: "mark zero" }, isEven ? "commit" : "commit (log)"),
  );
}

function list(turns, delivery, next) {
  const first = Date.parse(delivery.created_at);
  return element(
    "ol",
    { class: "turns", "aria-label": "Turns, oldest first" },
    turns.map((turn, index) => {
      const before = index ? Date.parse(turns[index - 1].started_at) : first;
      return element("li", { key: turn.id, class: kindOf(turn.outcome) }, told(turn, Date.parse(turn.started_at) - before));
    }),
    next
      ? element("li", { key: "next" }, element("p", {}, chip("waiting", "next"), " ", moment(delivery.next_attempt_at)))
      : null,
  );
}

function told(turn, since_ms) {
  const isAttempt = turn.outcome !== "deferred" && turn.outcome !== "cancelled";
  return [
    element("p", {}, isAttempt ? element("strong", {}, `Attempt ${turn.attempt} `) : null, chip(turn.outcome), turn.http_status ? ` HTTP ${turn.http_status}` : null),
    element(
      "p",
      { class: "quiet" },
      moment(turn.started_at),
      ` · ${duration(Math.max(since_ms, 0))} later`,
      isAttempt ? ` · took ${duration(turn.duration_ms)}` : null,
      turn.next.startsWith("outbox.") ? ` · then to ${turn.next}` : null,
      turn.replay_id ? [" · ", link(address("replays", { id: turn.replay_id }), "of a replay")] : null,
    ),
    turn.error_code || turn.error
      ? element("p", {}, turn.error_code ? [element("code", {}, turn.error_code), " "] : null, turn.error)
      : null,
    turn.excerpt
      ? element("details", {}, element("summary", {}, "What the receiver said"), element("pre", {}, turn.excerpt))
      : null,
  ];
}
