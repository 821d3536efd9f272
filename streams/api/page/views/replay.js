/*
 * One replay: how far it is, and a button that stops it.
 */

import { get, post } from "../api.js";
import { chip } from "../chip.js";
import { ask } from "../dialog.js";
import { element, link } from "../dom.js";
import { count } from "../format.js";
import { moment } from "../moment.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { facts } from "../table.js";
import { targetLink } from "./delivery_table.js";
import { progress } from "./replay_table.js";

const EVERY_MS = 2_000;

export function replay({ id }, { wantToken }) {
  const path = `v1/replays/${encodeURIComponent(id)}`;
  const shown = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get(path, {}, signal),
    draw: (one) => drawn(one, path, () => shown.now()),
  });
  return { title: `Replay ${id}`, content: shown.node, stop: shown.stop };
}

function drawn(one, path, changed) {
  const isUnderWay = one.status === "waiting" || one.status === "running";
  return [
    facts([
      ["Kind", one.delivery_id ? link(address("deliveries", { id: one.delivery_id }), one.kind) : one.kind],
      ["Target", targets(one)],
      ["Status", [chip(one.status), one.waits_for ? ` ${one.waits_for}` : null]],
      one.since ? ["Events committed", [moment(one.since), " until ", one.until ? moment(one.until) : "its start"]] : null,
      ...(one.range ? ofRange(one.range) : []),
      ["Events read", progress(one)],
      ["Sent", `${count(one.sent)}, at most ${count(one.rate_per_s)} a second`],
      ["Passed over", count(one.skipped)],
      ["Asked for", [moment(one.requested_at), ` by ${one.requested_by}`]],
      ["Started", moment(one.started_at)],
      ["Ended", moment(one.ended_at)],
      one.warning ? ["Could not reach", one.warning] : null,
      one.error ? ["Error", one.error] : null,
    ].filter(Boolean)),
    isUnderWay
      ? element("div", { class: "buttons" }, element("button", { type: "button", onclick: () => stop(path, changed) }, "Stop …"))
      : null,
  ];
}

function targets({ target, range }) {
  if (target) return targetLink(target);
  return range ? range.targets.flatMap((name, index) => (index ? [", ", targetLink(name)] : [targetLink(name)])) : "several dead letters'";
}

function ofRange({ from, to, types, aggregates, ids, source }) {
  return [
    ["Events committed", [moment(from), " until ", moment(to)]],
    types.length ? ["Of types", types.join(", ")] : null,
    aggregates.length ? ["About", aggregates.join(", ")] : null,
    ids.length ? ["Events", ids.join(", ")] : null,
    source === "postgres" ? ["Read from", "the outbox table"] : null,
  ];
}

function stop(path, changed) {
  ask({
    title: "Stop this replay?",
    text: "What it has sent stays sent. The rest is not sent, unless another replay does it.",
    button: "Stop",
    isGrave: true,
    said: "It is stopped.",
    act: () => post(`${path}/stop`),
    done: changed,
  });
}
