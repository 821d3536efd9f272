/*
 * Tables: with a caption, headings of columns, and a first column that names its row.
 */

import { element } from "./dom.js";

/**
 * A table. `columns` are `{ name, cell(item), class?, isHead? }`; rows are kept apart by `key(item)`. Too wide for the screen,
 * it scrolls by itself, by keyboard too.
 */
export function table({ caption, columns, items, key, isQuiet = false }) {
  const head = element("tr", {}, columns.map(({ name, class: kind }) => element("th", { scope: "col", class: kind }, name)));
  const rows = items.map((item) => element("tr", { key: key(item) }, columns.map((column) => cell(column, item))));
  return element(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    element(
      "table",
      {},
      element("caption", { class: isQuiet ? "unseen" : null }, caption),
      element("thead", {}, head),
      element("tbody", {}, rows),
    ),
  );
}

/** Names and values: `[["URL", node], …]`. */
export function facts(pairs) {
  return element("dl", { class: "facts" }, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function cell({ cell: content, class: kind, isHead }, item) {
  return isHead ? element("th", { scope: "row", class: kind }, content(item)) : element("td", { class: kind }, content(item));
}
