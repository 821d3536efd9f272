/*
 * A question before something is done: what will happen, and a button that names it.
 *
 * It stays open while it is done, and shows the problem if it can't be. Escape and Cancel do nothing. The browser puts the
 * focus back to where it was.
 */

import { announce } from "./announce.js";
import { element } from "./dom.js";
import { problemNotice } from "./notice.js";

/**
 * Ask. `act()` does it and gives a promise; `done(answer)` is told. `text` are nodes or texts, `fields` are more nodes, whose
 * values `act` reads by itself. `said` is announced afterwards.
 */
export function ask({ title, text, fields = [], button, isGrave = false, act, done = () => {}, said }) {
  const wrong = element("div", { role: "alert" });
  const go = element("button", { type: "submit", class: isGrave ? "grave" : "main" }, button);
  const cancel = element("button", { type: "button", onclick: () => dialog.close() }, "Cancel");

  async function submit(event) {
    event.preventDefault();
    go.disabled = true;
    try {
      const answer = await act();
      dialog.close();
      announce(said);
      done(answer);
    } catch (problem) {
      if (problem.status === undefined) console.error(problem);
      wrong.replaceChildren(problemNotice(problem));
      go.disabled = false;
    }
  }

  const form = element(
    "form",
    { onsubmit: submit },
    element("h2", { id: "question" }, title),
    [text].flat().map((part) => element("p", {}, part)),
    fields,
    wrong,
    element("div", { class: "buttons" }, go, cancel),
  );
  const dialog = element("dialog", { "aria-labelledby": "question" }, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  // Who only presses Enter does nothing grave.
  if (isGrave) cancel.focus();
}
