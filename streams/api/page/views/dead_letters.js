/*
 * The dead letters, newest first: those that a target did not take, and apart from them those that can't be read. Some can
 * be chosen, and redriven or discarded.
 */

import { get } from "../api.js";
import { chip } from "../chip.js";
import { element, link } from "../dom.js";
import { choiceField, filters, textField, timeField } from "../filters.js";
import { count, counted } from "../format.js";
import { shortMoment } from "../moment.js";
import { emptyNotice } from "../notice.js";
import { pager } from "../pager.js";
import { region } from "../region.js";
import { address } from "../router.js";
import { table } from "../table.js";
import { discard, redrive } from "./dead_letter_acts.js";
import { targetLink } from "./delivery_table.js";

const EVERY_MS = 5_000;
const CLASSES = [
  ["undelivered", "Not delivered"],
  ["poison", "Unreadable"],
];
const NONE = {
  undelivered: "No dead letter is like that. What can't succeed ends here, with its reason.",
  poison: "No unreadable record is like that. What can't be read, or can't be put into a request, ends here.",
};
const STATUSES = ["open", "redriven", "discarded", "any"].map((status) => [status, status]);

export function deadLetters({ query }, { wantToken }) {
  const kind = query.get("class") ?? "undelivered";
  const chosen = new Set();
  const found = element("h2", { tabindex: "-1" }, "Found");
  const list = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get("v1/dead-letters", wanted(query, kind), signal),
    draw: (page) => drawn(page, { query, kind, chosen, found, list }),
  });
  return {
    title: "Dead letters",
    content: [classes(kind), filters("dead-letters", fieldsOf(query, kind), { class: kind }), found, list.node],
    found,
    stop: list.stop,
  };
}

function wanted(query, kind) {
  const status = query.get("status") ?? "open";
  return { ...Object.fromEntries(query), class: kind, status: status === "any" ? "" : status };
}

function fieldsOf(query, kind) {
  const given = (name) => query.get(name) ?? "";
  const ofTarget = [
    textField("target", "Target", given("target"), "endpoint:ep_…"),
    textField("code", "Code", given("code"), "ENDPOINT_EXHAUSTED"),
  ];
  return [
    ...(kind === "poison" ? [] : ofTarget),
    textField("event_type", "Event type", given("event_type"), "order.created"),
    textField("event_id", "Event id", given("event_id")),
    choiceField("status", "Status", given("status") || "open", STATUSES),
    timeField("since", "Since", given("since")),
    timeField("until", "Until", given("until")),
  ];
}

function classes(kind) {
  return element(
    "nav",
    { class: "tabs", "aria-label": "Classes" },
    CLASSES.map(([value, text]) => {
      const href = address("dead-letters", { query: { class: value } });
      return element("a", { href, "aria-current": value === kind ? "true" : null }, text);
    }),
  );
}

function drawn({ items, next_cursor }, { query, kind, chosen, found, list }) {
  const open = items.filter(({ status }) => status === "open").map(({ id }) => id);
  for (const id of [...chosen]) if (!open.includes(id)) chosen.delete(id);
  if (!items.length) return emptyNotice(NONE[kind] ?? NONE.undelivered);
  const acted = () => {
    chosen.clear();
    list.now();
    found.focus();
  };
  const { redraw } = list;
  return [
    bar(chosen, open, { redraw, acted, isPoison: kind === "poison" }),
    table({
      caption: `Dead letters, newest first: ${kind}`,
      isQuiet: true,
      items,
      key: ({ id }) => id,
      columns: columns(chosen, redraw),
    }),
    pager("dead-letters", query, next_cursor),
  ];
}

function bar(chosen, open, { redraw, acted, isPoison }) {
  const all = open.length > 0 && chosen.size === open.length;
  function turn() {
    chosen.clear();
    if (!all) open.forEach((id) => chosen.add(id));
    redraw();
  }
  return element(
    "div",
    { class: "buttons" },
    element("button", { type: "button", onclick: turn, disabled: !open.length }, all ? "Choose none" : "Choose all on this page"),
    element("span", {}, counted(chosen.size, "is chosen", "are chosen")),
    element("button", { type: "button", disabled: !chosen.size, onclick: () => redrive([...chosen], acted, { isPoison }) }, "Redrive …"),
    element("button", { type: "button", disabled: !chosen.size, onclick: () => discard([...chosen], acted) }, "Discard …"),
  );
}

function columns(chosen, redraw) {
  return [
    { name: "Chosen", cell: (one) => tick(one, chosen, redraw) },
    { name: "Event", isHead: true, cell: named },
    { name: "Target", cell: ({ target }) => (target ? targetLink(target) : "–") },
    { name: "Code", cell: ({ code }) => element("code", {}, code) },
    { name: "Attempts", class: "number", cell: ({ attempts }) => count(attempts) },
    { name: "Died", cell: ({ died_at }) => shortMoment(died_at) },
    { name: "Status", cell: ({ status }) => chip(status) },
    { name: "Error", class: "words", cell: ({ error }) => element("span", { title: error }, error ?? "–") },
  ];
}

function tick({ id, status, event_type }, chosen, redraw) {
  if (status !== "open") return null;
  function changed(event) {
    if (event.target.checked) chosen.add(id);
    else chosen.delete(id);
    redraw();
  }
  const box = element("input", { type: "checkbox", "aria-label": `Choose ${event_type ?? "record"} ${id}`, onchange: changed });
  box.checked = chosen.has(id);
  return box;
}

function named({ id, event_id, event_type }) {
  return [link(address("dead-letters", { id }), event_type ?? "unreadable record"), element("small", { class: "id" }, event_id ?? "")];
}
