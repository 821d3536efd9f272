/*
 * What can be done with dead letters, each after a question.
 */

import { newKey, post } from "../api.js";
import { ask } from "../dialog.js";
import { counted } from "../format.js";
import { address } from "../router.js";

/** Send them again, to the targets that they died for. */
export function redrive(ids, done) {
  const once = newKey();
  const what = counted(ids.length, "dead letter", "dead letters");
  ask({
    title: `Redrive ${what}?`,
    text: [
      "Each is sent again to the target that it died for, under the same webhook id, with a fresh set of attempts.",
      "It happens once for each, whoever asks for it.",
    ],
    button: `Redrive ${what}`,
    said: `${what} on the way.`,
    act: () => post("v1/dead-letters/redrive", { once, body: { ids } }),
    done: ({ id }) => {
      done();
      location.hash = address("replays", { id });
    },
  });
}

/** Put them away for good. */
export function discard(ids, done) {
  const once = newKey();
  const what = counted(ids.length, "dead letter", "dead letters");
  ask({
    title: `Discard ${what}?`,
    text: "They are put aside, and can't be redriven any more. The records stay on Kafka for as long as it keeps them.",
    button: `Discard ${what}`,
    isGrave: true,
    said: `${what} discarded.`,
    act: () => post("v1/dead-letters/discard", { once, body: { ids } }),
    done,
  });
}
