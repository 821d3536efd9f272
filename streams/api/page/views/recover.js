/*
 * The question from when on an endpoint gets again what it did not take.
 */

import { newKey, post } from "../api.js";
import { ask } from "../dialog.js";
import { timeField, textField } from "../filters.js";
import { place } from "../format.js";
import { address } from "../router.js";

const DAY_MS = 24 * 3600 * 1000;
/** What the API takes where no rate is given: a test compares the two. */
const USUAL_PER_S = 100;

/** Ask, begin it, and show how far it is. */
export function recover(one, path) {
  const once = newKey();
  const since = timeField("since", "Events committed since", new Date(Date.now() - DAY_MS).toISOString());
  const until = timeField("until", "Until (empty: now)", "");
  const rate = textField("rate_per_s", `At most so many a second (empty: ${USUAL_PER_S})`, "");
  ask({
    title: "Recover this endpoint?",
    text: [
      `${place(one.url)} is sent the events of that time that it wants and has not taken, from Kafka, at a bounded rate.`,
      "You see how far it is, and can stop it.",
    ],
    fields: [since.node, until.node, rate.node],
    button: "Recover",
    said: "The recovery is asked for.",
    act: () => post(`${path}/recover`, { once, body: asked(since.value(), until.value(), rate.value()) }),
    done: ({ id }) => {
      location.hash = address("replays", { id });
    },
  });
}

function asked(since, until, rate) {
  return { since, ...(until ? { until } : {}), ...(rate ? { rate_per_s: Number(rate) } : {}) };
}
