/*
 * What is said to those who can't see it happen: that something was done, that answers stopped or came back. Numbers that
 * move are not: whoever wants them reads the table.
 */

const announcer = document.getElementById("announcer");

/** Say it once. */
export function announce(text) {
  announcer.textContent = "";
  // A screen reader hears of a change, and the same text twice is none.
  requestAnimationFrame(() => {
    announcer.textContent = text;
  });
}
