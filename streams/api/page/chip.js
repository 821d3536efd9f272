/*
 * A chip: a state as a word, with a sign and a colour beside it, which mean nothing that the word doesn't say.
 */

import { element } from "./dom.js";

const SIGNS = { good: "●", waiting: "◔", wrong: "✕", off: "○" };

const KINDS = {
  succeeded: "good", delivered: "good", ok: "good", enabled: "good", done: "good", redriven: "good",
  pending: "waiting", retrying: "waiting", deferred: "waiting", running: "waiting", failing: "wrong", interrupted: "waiting",
  failed: "wrong", rejected: "wrong", open: "wrong",
  cancelled: "off", disabled: "off", idle: "off", stopped: "off", discarded: "off", waiting: "off",
};

/** The chip of a state of the API's; one that is not known here is shown all the same. */
export function chip(state, text = state) {
  const kind = kindOf(state);
  return element("span", { class: `chip ${kind}` }, element("span", { "aria-hidden": "true" }, SIGNS[kind]), " ", text);
}

/** What a state means: good, waiting, wrong or off. */
export function kindOf(state) {
  return Object.hasOwn(KINDS, state) ? KINDS[state] : "off";
}
