/*
 * Where the page begins: it shows the view that the address names, and asks for a token where the API wants one.
 */

import { announce } from "./announce.js";
import { element } from "./dom.js";
import { parse } from "./router.js";
import { storedToken, storeToken } from "./token.js";
import { deadLetter } from "./views/dead_letter.js";
import { deadLetters } from "./views/dead_letters.js";
import { deliveries } from "./views/deliveries.js";
import { delivery } from "./views/delivery.js";
import { endpoint } from "./views/endpoint.js";
import { endpoints } from "./views/endpoints.js";
import { missing } from "./views/missing.js";
import { overview } from "./views/overview.js";
import { replay } from "./views/replay.js";
import { replays } from "./views/replays.js";
import { tokenForm } from "./views/token_form.js";

/** For each view: all of it, and one thing in it. */
const VIEWS = {
  overview: [overview, missing],
  endpoints: [endpoints, endpoint],
  deliveries: [deliveries, delivery],
  "dead-letters": [deadLetters, deadLetter],
  replays: [replays, replay],
};

const main = document.getElementById("main");
const forget = document.getElementById("forget");
let shown = { view: "", id: "", stop() {} };

/** Show what the address names. Who came from elsewhere is put at its heading; who filtered, at what was found. */
function show() {
  const route = parse(location.hash);
  const [all, one] = VIEWS[route.view] ?? [missing, missing];
  const isSame = shown.view === route.view && shown.id === route.id;
  const isFirst = shown.view === "";
  shown.stop();
  const view = (route.id ? one : all)(route, { wantToken });
  put(route, view);
  if (isSame && view.found) view.found.focus();
  else if (!isFirst) main.querySelector("h1").focus();
  if (!isSame) scrollTo(0, 0);
}

function wantToken(problem) {
  shown.stop();
  put(parse(location.hash), tokenForm(problem, show));
  main.querySelector("input").focus();
}

function put(route, view) {
  const heading = element("h1", { tabindex: "-1" }, view.title);
  main.replaceChildren(heading, ...[view.content].flat());
  document.title = `${view.title} – outbox-streams`;
  forget.hidden = !storedToken();
  for (const one of document.querySelectorAll("#views a")) {
    if (parse(one.hash).view === route.view) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  shown = { view: route.view, id: route.id, stop: view.stop ?? (() => {}) };
}

forget.onclick = () => {
  storeToken("");
  announce("The token is forgotten.");
  show();
};
document.getElementById("skip").onclick = (event) => {
  // The address is the view's; a plain link to #main would take its place.
  event.preventDefault();
  main.focus();
};
addEventListener("hashchange", show);
show();
