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
      ["Event", one.event_id ? [one.event_type ?? "", " ", element("code", {}, one.event_id)] : "it can't be read"],
      ["Delivery", one.delivery_id ? link(address("deliveries", { id: one.delivery_id }), "its attempts") : "not in the log"],
      ["Target", one.target ? targetLink(one.target) : "none"],
      ["Status", statusOf(one)],
      ["Class", one.class === "poison" ? "unreadable" : "not delivered"],
      ["Code", element("code", {}, one.code)],
      ["First error", one.first_error ?? "–"],
      ["Last error", one.error ?? "–"],
      ["Attempts", count(one.attempts)],
      ["Committed", moment(one.created_at)],
      ["Failed first", moment(one.first_failed_at)],
      ["Died", moment(one.died_at)],
      ["Read first at", element("code", {}, one.origin ?? "–")],
      ["Stands at", element("code", {}, `outbox.dead-letter/${one.place}`)],
      ["Id", element("code", {}, one.id)],
    ]),
    one.status === "open"
      ? element(
          "div",
          { class: "buttons" },
          button("Redrive …", () => redrive([one.id], acted, { isPoison: one.class === "poison" })),
          button("Discard …", () => discard([one.id], acted)),
        )
      : null,
  ];
}

function statusOf({ status, changed_at, changed_by, replay_id }) {
  const by = changed_at ? [" ", moment(changed_at), ` by ${changed_by}`] : null;
  return [chip(status), by, replay_id ? [", ", link(address("replays", { id: replay_id }), "how far it is")] : null];
}
