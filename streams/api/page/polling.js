/*
 * Asking again and again: every so often while somebody looks, never while the page is hidden, ever more seldom while
 * there is no answer.
 */

const SELDOM_MS = 30_000;

/** How long to wait after so many failures in a row. Pure. */
export function wait(every_ms, failures) {
  return Math.min(every_ms * 2 ** failures, Math.max(SELDOM_MS, every_ms));
}

/**
 * Ask, show, wait, ask again. `ask(signal)` gives a promise; `show(answer)`, or `failed(error, again_ms)`, is told of it.
 * Gives `{ now, stop }`: to ask at once, and to end it for good. Either of the two may stop it, and nothing is told after that.
 */
export function poll({ every_ms, ask, show, failed }) {
  let failures = 0;
  let timer = 0;
  let asking = null;
  let isStopped = false;

  async function now() {
    if (isStopped) return;
    clearTimeout(timer);
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    try {
      const answer = await ask(mine.signal);
      if (mine.signal.aborted) return;
      failures = 0;
      show(answer);
    } catch (error) {
      if (mine.signal.aborted) return;
      failures += 1;
      failed(error, wait(every_ms, failures));
    }
    asking = null;
    later();
  }

  function later() {
    if (!isStopped && !document.hidden) timer = setTimeout(now, wait(every_ms, failures));
  }

  function seen() {
    clearTimeout(timer);
    if (!document.hidden) now();
  }

  document.addEventListener("visibilitychange", seen);
  now();
  return {
    now,
    stop() {
      isStopped = true;
      clearTimeout(timer);
      asking?.abort();
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
