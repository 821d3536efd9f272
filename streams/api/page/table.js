/*
 * Tables: with a caption, headings of columns, and a first column that names its row.
 */

import { element } from "./dom.js";

/**
 * A table. `columns` are `{ name, cell(item), class?, isHead? }`; rows are kept apart by `key(item)`. Too wide for the screen,
 * it scrolls by itself, by keyboard too.
 */
export function table({ caption, columns, items, key, isQuiet = false, kind = null }) {
  const headings = columns.map(({ name, class: kind }) => element("th", { scope: "col", class: kind }, name));
  const rows = items.map((item) => element("tr", { key: key(item) }, columns.map((column) => cell(column, item))));
  return element(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    element(
      "table",
      { class: kind },
      element("caption", { class: isQuiet ? "unseen" : null }, caption),
      element("thead", {}, element("tr", {}, headings)),
      element("tbody", {}, rows),
    ),
  );
}

/** Names and values: `[["URL", node], …]`. */
export function facts(pairs) {
  const rows = pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", { class: "facts" }, rows);
}

function cell({ cell: content, class: kind, isHead }, item) {
  const attributes = { class: kind, scope: isHead ? "row" : null };
  return element(isHead ? "th" : "td", attributes, content(item));
}
