/*
 * The retry tiers, drawn: a bar each for what waits in it now, and a line for the last minutes. It is a table, so that who
 * can't see the bars reads the numbers.
 */

import { drawn, element } from "./dom.js";
import { count, tier } from "./format.js";
import { table } from "./table.js";

const KEPT = 90;
const FULL_AT_LEAST = 10;

/** What waited in each topic, the newest last: made anew whenever the view is. */
export function history() {
  const byTopic = new Map();
  return {
    add(topic, waiting) {
      byTopic.set(topic, [...(byTopic.get(topic) ?? []), waiting].slice(-KEPT));
    },
    of: (topic) => byTopic.get(topic) ?? [],
  };
}

/** The table of tiers. */
export function tierBars(items, past) {
  const most = Math.max(FULL_AT_LEAST, ...items.map(({ waiting }) => waiting));
  return table({
    caption: "Deliveries that wait in each retry tier",
    isQuiet: true,
    kind: "tiers",
    items,
    key: ({ topic }) => topic,
    columns: [
      { name: "Tier", isHead: true, class: "number", cell: ({ delay_s }) => tier(delay_s) },
      { name: "Waiting", class: "number", cell: ({ waiting }) => count(waiting) },
      { name: "", class: "bar", cell: ({ waiting }) => bar(waiting / most) },
      { name: "Last 3 minutes", class: "line", cell: ({ topic }) => line(past.of(topic)) },
    ],
  });
}

/** A number that matters, with what it counts, and its line. */
export function gauge(waiting, [one, many], explained, past) {
  return element(
    "div",
    { class: "gauge" },
    element("p", { class: "figure" }, element("strong", {}, count(waiting)), " ", waiting === 1 ? one : many),
    line(past),
    element("p", { class: "quiet" }, explained),
  );
}

/** The points of a line of numbers in a field of 100 × 20, the newest at the right end. Pure. */
export function points(numbers) {
  const most = Math.max(FULL_AT_LEAST, ...numbers);
  const first = KEPT - numbers.length;
  const across = (index) => round((100 * (first + index)) / (KEPT - 1));
  return numbers.map((number, index) => `${across(index)},${round(19 - (18 * number) / most)}`).join(" ");
}

function bar(share) {
  const fill = element("span", { class: "fill", style: { "--share": String(share) } });
  return element("span", { class: "track", "aria-hidden": "true" }, fill);
}

function line(numbers) {
  return drawn(
    "svg",
    { class: "history", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("polygon", { points: `${points(numbers)} 100,20 ${start(numbers)},20` }),
    drawn("polyline", { points: points(numbers) }),
  );
}

function start(numbers) {
  return round((100 * (KEPT - numbers.length)) / (KEPT - 1));
}

function round(number) {
  return Math.round(number * 10) / 10;
}
