/*
 * One endpoint: its fields, its health, its newest deliveries, and what can be done with it.
 */

import { get, post } from "../api.js";
import { chip } from "../chip.js";
import { ask } from "../dialog.js";
import { element, link } from "../dom.js";
import { counted, duration, place } from "../format.js";
import { moment } from "../moment.js";
import { emptyNotice } from "../notice.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { facts } from "../table.js";
import { deliveryTable } from "./delivery_table.js";
import { state } from "./endpoint_table.js";
import { recover } from "./recover.js";

const EVERY_MS = 5_000;
const NEWEST = 20;

export function endpoint({ id }, { wantToken }) {
  const path = `v1/endpoints/${encodeURIComponent(id)}`;
  const shown = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get(path, {}, signal),
    draw: (one) => [buttons(one, path, () => shown.now()), ...fields(one)],
  });
  const deliveries = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get("v1/deliveries", { endpoint_id: id, limit: NEWEST }, signal),
    draw: ({ items }) => newest(items, id),
  });
  return {
    title: `Endpoint ${id}`,
    content: [shown.node, element("h2", {}, "Newest deliveries"), deliveries.node],
    stop() {
      shown.stop();
      deliveries.stop();
    },
  };
}

function fields(one) {
  const { health } = one;
  return [
    element("h2", {}, "Health"),
    facts([
      ["State", state(one)],
      ["Health", [chip(health.state), health.failing_since ? [" since ", moment(health.failing_since)] : null]],
      ["Last success", moment(health.last_success_at)],
      ["Last failure", [moment(health.last_failure_at), health.last_error ? ` ${health.last_error}` : null]],
      health.disables_at ? ["Is disabled", [moment(health.disables_at), " unless it succeeds before"]] : null,
    ].filter(Boolean)),
    element("h2", {}, "Fields"),
    facts([
      ["URL", element("code", {}, one.url)],
      ["Description", one.description || "–"],
      ["Events", element("code", {}, one.event_types.join(", "))],
      ["Payload filter", one.payload_filter ? element("code", {}, JSON.stringify(one.payload_filter)) : "none"],
      ["At once", one.concurrency ?? usual()],
      ["Rate", one.rate_limit_per_s === null ? "no limit" : `${one.rate_limit_per_s} a second`],
      ["Timeout", seconds(one.timeout_s)],
      ["Waits between attempts", one.schedule_s ? waits(one.schedule_s) : usual()],
      ["Given up after", seconds(one.max_age_s)],
      ["Static headers", one.header_names.join(", ") || "none"],
      ["Metadata", Object.keys(one.metadata).length ? element("code", {}, JSON.stringify(one.metadata)) : "none"],
      ["Secrets", secrets(one)],
      ["Created", moment(one.created_at)],
      ["Changed", moment(one.updated_at)],
    ]),
  ];
}

function buttons(one, path, changed) {
  const button = (text, onclick) => element("button", { type: "button", onclick }, text);
  return element(
    "div",
    { class: "buttons" },
    one.enabled
      ? button("Disable …", () => disable(one, path, changed))
      : button("Enable …", () => enable(one, path, changed)),
    one.enabled ? button("Send a test event …", () => test(one, path)) : null,
    button("Recover …", () => recover(one, path)),
  );
}

function disable(one, path, changed) {
  ask({
    title: "Disable this endpoint?",
    text: [
      `${place(one.url)} is sent nothing more. What waits for it is put off.`,
      "Events that come meanwhile are not sent to it later, unless they are recovered.",
    ],
    button: "Disable",
    isGrave: true,
    said: "It is disabled.",
    act: () => post(`${path}/disable`),
    done: changed,
  });
}

function enable(one, path, changed) {
  ask({
    title: "Enable this endpoint?",
    text: `${place(one.url)} gets events again. What waits for it goes on.`,
    button: "Enable",
    said: "It is enabled.",
    act: () => post(`${path}/enable`),
    done: changed,
  });
}

function test(one, path) {
  ask({
    title: "Send a test event?",
    text: `An event of type endpoint.test goes to ${place(one.url)}, and to nobody else.`,
    button: "Send it",
    said: "A test event is on its way.",
    act: () => post(`${path}/test`),
    done: ({ event_id }) => {
      location.hash = address("deliveries", { query: { event_id } });
    },
  });
}

function newest(items, id) {
  if (!items.length) return emptyNotice("The log has no delivery to it. A test event shows whether it can be reached.");
  return [
    deliveryTable(items, `The newest deliveries to ${id}`),
    element("p", { class: "quiet" }, link(address("deliveries", { query: { endpoint_id: id } }), "All its deliveries")),
  ];
}

function waits(schedule_s) {
  return schedule_s.map((wait) => duration(wait * 1000)).join(", ") || "one attempt only";
}

function secrets({ secrets: all }) {
  const ending = all.filter(({ expires_at }) => expires_at);
  return [counted(all.length, "signs", "sign"), ending.map(({ expires_at }) => [", one until ", moment(expires_at)])];
}

function usual() {
  return element("span", { class: "quiet" }, "as in the settings");
}

function seconds(number) {
  return number === null ? usual() : duration(number * 1000);
}
