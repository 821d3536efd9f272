/*
 * The form that asks for a token, where the API wants one.
 */

import { element } from "../dom.js";
import { problemNotice } from "../notice.js";
import { storedToken, storeToken } from "../token.js";

/** `problem` is why it is asked for; `then` is called with a token in place. */
export function tokenForm(problem, then) {
  const wasRefused = storedToken() !== "";
  storeToken("");
  const input = element("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "kept",
  });
  function submit(event) {
    event.preventDefault();
    storeToken(input.value.trim());
    then();
  }
  return {
    title: "A token is needed",
    content: element(
      "form",
      { class: "token", onsubmit: submit },
      wasRefused ? problemNotice(problem) : element("p", {}, "This API answers to those who have a token."),
      element("div", { class: "field" }, element("label", { for: "token" }, "Token"), input),
      element(
        "p",
        { id: "kept", class: "quiet" },
        "It is kept for this tab until it is closed (sessionStorage), and sent to this API only. ",
        "The scope read is enough to look; what changes something needs write. ",
        element("code", {}, "outbox token"),
        " makes one.",
      ),
      element("div", { class: "buttons" }, element("button", { type: "submit", class: "main" }, "Use it")),
    ),
  };
}
