/*
 * Numbers, times and names, as people read them. Pure: the time is passed in.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long: `under 1 ms`, `820 ms`, `2.1 s`, `3 min 5 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms) {
  if (ms < 1) return "under 1 ms";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 9.95 * SECOND) return `${trimmed((ms / SECOND).toFixed(1))} s`;
  if (Math.round(ms / SECOND) < 60) return `${Math.round(ms / SECOND)} s`;
  if (Math.round(ms / SECOND) < 3600) return two(ms, MINUTE, "min", SECOND, "s");
  if (Math.round(ms / MINUTE) < 24 * 60) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, "d", HOUR, "h");
}

/** When, as seen from `now_ms`: `now`, `in 12 s`, `3 min ago`. One unit is enough for that. */
export function relative(iso, now_ms) {
  const away_ms = Date.parse(iso) - now_ms;
  const length = Math.abs(away_ms);
  if (length < SECOND) return "now";
  const text = coarse(length);
  return away_ms > 0 ? `in ${text}` : `${text} ago`;
}

/** A moment in the reader's zone: `2026-11-30 22:11:49`. */
export function local(iso) {
  const at = new Date(iso);
  const date = [at.getFullYear(), padded(at.getMonth() + 1), padded(at.getDate())].join("-");
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(padded).join(":")}`;
}

/** For a field of type datetime-local. */
export function localField(iso) {
  return iso ? local(iso).replace(" ", "T") : "";
}

/** From such a field to the moment that it means; empty where it is empty. */
export function fromLocalField(text) {
  return text ? new Date(text).toISOString() : "";
}

/** A number with its thousands apart: `12,345`. */
export function count(number) {
  return number.toLocaleString("en");
}

/** `1 delivery`, `2 deliveries`. */
export function counted(number, one, many) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A target, taken apart: `endpoint:ep_1` is an endpoint, named ep_1. */
export function target(text) {
  const [kind, name] = (text || "").split(/:(.*)/s);
  return { kind, name: name ?? "" };
}

/** Where a URL leads, without its query, which may hold a token. */
export function place(url) {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol === "https:" ? "" : "http://"}${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return url;
  }
}

/** A tier by its delay, as its topic is named: `1s`, `15m`. */
export function tier(delay_s) {
  if (delay_s < 60 || delay_s % 60) return `${delay_s}s`;
  return delay_s % 3600 ? `${delay_s / 60}m` : `${delay_s / 3600}h`;
}

function coarse(ms) {
  if (ms < 59.5 * SECOND) return `${Math.max(1, Math.round(ms / SECOND))} s`;
  if (ms < 59.5 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 47.5 * HOUR) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} d`;
}

function two(ms, large, largeName, small, smallName) {
  const smalls = Math.round(ms / small);
  const each = large / small;
  const rest = smalls % each;
  return `${Math.floor(smalls / each)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

function trimmed(text) {
  return text.replace(/\.0$/, "");
}

function padded(number) {
  return String(number).padStart(2, "0");
}
