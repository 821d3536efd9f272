/*
 * Addresses of the page, in the part after `#`: `#/deliveries/<id>`, `#/deliveries?status=failed`. Pure.
 */

/** What an address names: a view, perhaps one thing in it, and what is asked of it. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view = "", id = ""] = path.split("/").map(decoded);
  return { view: view || "overview", id, query: new URLSearchParams(query) };
}

/** The address of a view: the opposite of `parse`. What is empty in the query is left out. */
export function address(view, { id = "", query = {} } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const asked = new URLSearchParams(given).toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${asked ? `?${asked}` : ""}`;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
