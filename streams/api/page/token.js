/*
 * The bearer token: kept by the browser for this tab alone, until it is closed (sessionStorage), and nowhere else.
 */

const NAME = "outbox-token";

/** The token, or an empty text. */
export function storedToken() {
  return sessionStorage.getItem(NAME) ?? "";
}

/** Keep a token; an empty one is forgotten. */
export function storeToken(token) {
  if (token) sessionStorage.setItem(NAME, token);
  else sessionStorage.removeItem(NAME);
}
