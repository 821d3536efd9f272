/*
 * The axis that a delivery's attempts are drawn on: where a moment stands, in percent, and the marks below. Pure.
 *
 * Within a minute it is even. Beyond that it grows with the logarithm of the time since the start: waits double, and on
 * an even axis all attempts but the last would be one blot at its begin.
 */

import { duration } from "./format.js";

const SECOND = 1000;
const EVEN_UP_TO = 60 * SECOND;
const STEPS = [1, 5, 10, 50, 100, 500, 1000, 2000, 5000, 10000, 15000, 30000];
const LANDMARKS = [1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 3 * 24 * 3600, 10 * 24 * 3600, 30 * 24 * 3600];
const MOST_MARKS = 7;
const APART = 9;

/** An axis from `start_ms` to `end_ms`: `at(ms)` gives a place from 0 to 100, `marks` are its ticks. */
export function timeAxis(start_ms, end_ms) {
  const span = Math.max(end_ms - start_ms, 1);
  const isEven = span <= EVEN_UP_TO;
  const scale = isEven ? (ms) => ms / span : (ms) => Math.log1p(ms / SECOND) / Math.log1p(span / SECOND);
  const at = (ms) => 100 * scale(Math.min(Math.max(ms - start_ms, 0), span));
  const candidates = isEven ? evenMarks(span) : LANDMARKS.map((seconds) => seconds * SECOND);
  return { at, isEven, marks: apart(candidates.filter((ms) => ms < span).map((ms) => mark(ms, at(start_ms + ms)))) };
}

function evenMarks(span) {
  const step = STEPS.find((ms) => span / ms <= MOST_MARKS) ?? span;
  return Array.from({ length: Math.floor(span / step) }, (_, index) => (index + 1) * step);
}

function mark(ms, at) {
  return { at, text: `+${duration(ms)}` };
}

function apart(marks) {
  const kept = [];
  for (const one of marks) {
    if (one.at - (kept.at(-1)?.at ?? 0) >= APART && one.at <= 100 - APART / 2) kept.push(one);
  }
  return kept;
}
