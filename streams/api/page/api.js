/*
 * The client of the admin API: it asks with the token, if there is one, and says why where it is refused.
 */

import { storedToken } from "./token.js";

const WITHIN_MS = 15_000;
const KIND = "urn:outbox:problem:";

/** Why a request failed: what the API answered (RFC 9457), or that it gave no answer. */
export class Problem extends Error {
  constructor({ status = 0, type = "", title, detail, request_id = "", errors = [] }) {
    super(title);
    Object.assign(this, { status, kind: type.replace(KIND, ""), title, detail, requestId: request_id, errors });
  }
}

/** Ask for something: `get("v1/deliveries", { status: "failed" }, signal)`. What is empty is not asked. */
export function get(path, query = {}, signal = undefined) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== "" && value !== null && value !== undefined) asked.append(name, value);
  }
  const text = asked.toString();
  return call("GET", text ? `${path}?${text}` : path, { signal });
}

/** Do something. With `once`, a key of this act, it is done once, however often it is sent. */
export function post(path, { body = undefined, once = "" } = {}) {
  const headers = once ? { "Idempotency-Key": once } : {};
  return call("POST", path, { body, headers });
}

/** A key for an act. Not `crypto.randomUUID`: a browser has that only where the page came over TLS or from loopback. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function call(method, path, { body, headers = {}, signal = undefined }) {
  const token = storedToken();
  const limits = [AbortSignal.timeout(WITHIN_MS), ...(signal ? [signal] : [])];
  const request = {
    method,
    headers: {
      ...headers,
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    signal: AbortSignal.any(limits),
  };
  let response;
  let answer;
  try {
    response = await fetch(path, request);
    answer = response.status === 204 ? null : await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = "The API can't be reached, or its answer can't be read. Does it run?";
    throw new Problem({ title: "No answer", detail });
  }
  if (!response.ok) throw new Problem({ ...answer, status: response.status });
  return answer;
}
