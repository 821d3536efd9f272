/*
 * A region that stays up to date: asked for again and again, and drawn over what is there.
 *
 * While there is no answer, what was last known stays, and a notice above says so. What this API does without for good, by
 * its settings, is no outage: its place says so, and everything is up to date.
 */

import { announce } from "./announce.js";
import { element } from "./dom.js";
import { duration, local } from "./format.js";
import { morph } from "./morph.js";
import { emptyNotice, problemNotice } from "./notice.js";
import { poll } from "./polling.js";

const state = document.getElementById("state");
/** The regions that are shown, and have no answer. */
const away = new Set();

/**
 * A region. `ask(signal)` gives a promise of what `draw(answer)` makes nodes of; a `problem.status` of 401 ends it, and
 * `wantToken` is called. Gives `{ node, now, redraw, stop }`.
 */
export function region({ every_ms, ask, draw, wantToken, attributes = {} }) {
  const notice = element("div", {});
  const body = element("div", { "aria-busy": "true" }, element("p", { class: "quiet" }, "One moment …"));
  const node = element("div", attributes, notice, body);
  let answer;

  function redraw() {
    if (answer !== undefined) morph(body, element("div", {}, draw(answer)));
  }

  /** What stood there while there was neither answer nor failure. */
  function settle() {
    if (!body.hasAttribute("aria-busy")) return;
    body.removeAttribute("aria-busy");
    body.replaceChildren();
  }

  function show(fresh) {
    answer = fresh;
    settle();
    morph(notice, element("div", {}));
    if (away.delete(node) && !away.size) announce("Answers come again.");
    redraw();
    say();
  }

  function withheld({ detail }) {
    answer = undefined;
    settle();
    morph(notice, element("div", {}, emptyNotice(detail)));
    body.replaceChildren();
    away.delete(node);
    say();
  }

  function failed(problem, again_ms) {
    if (problem.status === 401) {
      wantToken(problem);
      return;
    }
    if (problem.kind === "kafka-not-set") {
      withheld(problem);
      return;
    }
    if (problem.status === undefined) console.error(problem);
    settle();
    const before = answer === undefined ? "" : "What is shown was true before that. ";
    const after = `${before}Asked again in ${duration(again_ms)}.`;
    morph(notice, element("div", {}, problemNotice(problem, { after })));
    // Once, though several parts may miss the same API.
    if (!away.size) announce(`${problem.title ?? "A defect"}. ${problem.detail ?? ""}`);
    away.add(node);
    say();
  }

  const polling = poll({ every_ms, ask, show, failed });
  function stop() {
    polling.stop();
    away.delete(node);
  }
  return { node, now: polling.now, redraw, stop };
}

function say() {
  const upToDate = `Up to date at ${local(new Date().toISOString()).slice(11)}`;
  state.textContent = away.size ? "Not all is up to date" : upToDate;
  state.className = away.size ? "state wrong" : "state";
}
