/*
 * The replays, newest first.
 */

import { get } from "../api.js";
import { emptyNotice } from "../notice.js";
import { pager } from "../pager.js";
import { region } from "../region.js";
import { replayTable } from "./replay_table.js";

const EVERY_MS = 5_000;

export function replays({ query }, { wantToken }) {
  const list = region({
    every_ms: EVERY_MS,
    wantToken,
    ask: (signal) => get("v1/replays", Object.fromEntries(query), signal),
    draw: (page) => drawn(page, query),
  });
  return { title: "Replays", content: list.node, stop: list.stop };
}

function drawn({ items, next_cursor }, query) {
  if (!items.length && !query.get("cursor")) {
    return emptyNotice(
      "Nothing was sent again yet. A delivery has a button for it, an endpoint can be recovered, dead letters redriven.",
    );
  }
  return [replayTable(items, "Replays, newest first"), pager("replays", query, next_cursor)];
}
