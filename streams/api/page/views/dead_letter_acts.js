/*
 * What can be done with dead letters, each after a question.
 */

import { newKey, post } from "../api.js";
import { ask } from "../dialog.js";
import { counted } from "../format.js";
import { address } from "../router.js";

const DELIVERED = [
  "Each is sent again to the target that it died for, under the same webhook id, with a fresh set of attempts.",
  "It happens once for each, whoever asks for it.",
];
const READ = [
  "Each is given to the workers again. Do this once they can read it, after an upgrade for example: else it dies again.",
  "It happens once for each, whoever asks for it.",
];

/** Send them again, to the targets that they died for; those that could not be read, to whoever can read them now. */
export function redrive(ids, done, { isPoison }) {
  const once = newKey();
  const what = counted(ids.length, "dead letter", "dead letters");
  ask({
    title: `Redrive ${what}?`,
    text: isPoison ? READ : DELIVERED,
    button: `Redrive ${what}`,
    said: `${what} on the way.`,
    act: () => post("v1/dead-letters/redrive", { once, body: { ids, include_poison: isPoison } }),
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
