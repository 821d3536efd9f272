/*
 * From page to page of a list: back to its begin, and on.
 */

import { element, link } from "./dom.js";
import { address } from "./router.js";

/** Links to the first page and to the next one, where there are such; nothing where all is on one page. */
export function pager(view, query, next_cursor) {
  const isFirst = !query.get("cursor");
  if (isFirst && !next_cursor) return null;
  const to = (cursor) => address(view, { query: { ...Object.fromEntries(query), cursor } });
  return element(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    isFirst ? null : link(to(""), "First page"),
    next_cursor ? link(to(next_cursor), "Next page") : element("span", { class: "quiet" }, "This is the last page"),
  );
}
