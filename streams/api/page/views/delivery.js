/*
 * One delivery: how it stands, and its attempts as a time line. It can be sent again.
 */

import { get, newKey, post } from "../api.js";
import { chip } from "../chip.js";
import { ask } from "../dialog.js";
import { element, link } from "../dom.js";
import { moment } from "../moment.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { facts } from "../table.js";
import { timeLine } from "../time_line.js";
import { targetLink } from "./delivery_table.js";

const EVERY_MS = 2_000;

export function delivery({ id }, { wantToken }) {
  const path = `v1/deliveries/${encodeURIComponent(id)}`;
  const shown = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get(path, {}, signal),
    draw: (answer) => drawn(answer, path),
  });
  return { title: "Delivery", content: shown.node, stop: shown.stop };
}

function drawn(one, path) {
  return [
    facts([
      ["Event", [ofEvent(one), " ", element("code", {}, one.event_id)]],
      ["Target", targetLink(one.target)],
      ["Status", chip(one.status)],
      ["Committed", moment(one.created_at)],
      ["Next attempt", moment(one.next_attempt_at)],
      ["Read first at", element("code", {}, one.origin)],
    ]),
    element("div", { class: "buttons" }, element("button", { type: "button", onclick: () => resend(one, path) }, "Send it again …")),
    element("h2", {}, "Time line"),
    one.attempts_omitted ? element("p", { class: "quiet" }, "Older turns are not shown.") : null,
    timeLine(one),
  ];
}

function ofEvent({ event_id, event_type }) {
  return link(address("deliveries", { query: { event_id } }), event_type);
}

function resend(one, path) {
  const once = newKey();
  ask({
    title: "Send it again?",
    text: [
      `The receiver gets the same event once more, under the same webhook id: ${one.event_type}.`,
      "It has a fresh set of attempts.",
    ],
    button: "Send it again",
    said: "It is sent again.",
    act: () => post(`${path}/resend`, { once }),
    done: ({ id }) => {
      location.hash = address("replays", { id });
    },
  });
}
