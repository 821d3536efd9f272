/*
 * A form of filters above a list. What is asked for stands in the address, so that it can be sent to somebody.
 */

import { element } from "./dom.js";
import { fromLocalField, localField } from "./format.js";
import { address } from "./router.js";

/** A form; `fields` are made by `textField`, `choiceField` and `timeField`. `kept` stays in the query whatever is filtered. */
export function filters(view, fields, kept = {}) {
  function submit(event) {
    event.preventDefault();
    const query = Object.fromEntries(fields.map(({ name, value }) => [name, value()]));
    const to = address(view, { query: { ...kept, ...query } });
    if (to === location.hash) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = to;
  }
  return element(
    "form",
    { class: "filters", role: "search", "aria-label": "Filters", onsubmit: submit },
    fields.map(({ node }) => node),
    element(
      "div",
      { class: "buttons" },
      element("button", { type: "submit" }, "Filter"),
      element("a", { href: address(view, { query: kept }) }, "Clear"),
    ),
  );
}

/** A text; `hint` shows its form. */
export function textField(name, label, given, hint = "") {
  const shown = { value: given, placeholder: hint, autocomplete: "off", spellcheck: "false" };
  const input = element("input", { id: `by-${name}`, name, ...shown });
  return { name, value: () => input.value.trim(), node: labelled(label, input) };
}

/** One of some: `choices` are `[value, text]`. */
export function choiceField(name, label, given, choices) {
  const input = element(
    "select",
    { id: `by-${name}`, name },
    choices.map(([value, text]) => element("option", { value, selected: value === given }, text)),
  );
  return { name, value: () => input.value, node: labelled(label, input) };
}

/** A moment, in the reader's zone. */
export function timeField(name, label, given) {
  const shown = { type: "datetime-local", step: "1", value: localField(given) };
  const input = element("input", { id: `by-${name}`, name, ...shown });
  return { name, value: () => fromLocalField(input.value), node: labelled(label, input) };
}

function labelled(label, input) {
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input);
}
