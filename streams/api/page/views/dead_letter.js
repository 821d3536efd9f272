/*
 * One dead letter: where it came from, why it died, and what can be done with it.
 */

import { get } from "../api.js";
import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { count } from "../format.js";
import { moment } from "../moment.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { facts } from "../table.js";
import { discard, redrive } from "./dead_letter_acts.js";
import { targetLink } from "./delivery_table.js";

const EVERY_MS = 5_000;

export function deadLetter({ id }, { wantToken }) {
  const shown = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get(`v1/dead-letters/${encodeURIComponent(id)}`, {}, signal),
    draw: (one) => drawn(one, () => shown.now()),
  });
  return { title: "Dead letter", content: shown.node, stop: shown.stop };
}

function drawn(one, acted) {
  const button = (text, onclick) => element("button", { type: "button", onclick }, text);
  return [
    facts([
      ["Event", one.event_id ? [link(address("deliveries", { query: { event_id: one.event_id } }), one.event_type ?? "deliveries"), " ", element("code", {}, one.event_id)] : "it can't be read"],
      ["Target", one.target ? targetLink(one.target) : "–"],
      ["Status", [chip(one.status), one.replay_id ? [" by ", link(address("replays", { id: one.replay_id }), "a replay")] : null]],
      ["Class", one.class === "poison" ? "unreadable" : "not delivered"],
      ["Code", element("code", {}, one.code)],
      ["Error", one.error ?? "–"],
      ["Attempts", count(one.attempts ?? 0)],
      ["Committed", moment(one.created_at)],
      ["Failed first", moment(one.first_failed_at)],
      ["Died", moment(one.died_at)],
      ["Read first at", element("code", {}, one.origin ?? "–")],
      ["Id", element("code", {}, one.id)],
    ]),
    one.status === "open"
      ? element("div", { class: "buttons" }, button("Redrive …", () => redrive([one.id], acted)), button("Discard …", () => discard([one.id], acted)))
      : null,
  ];
}
