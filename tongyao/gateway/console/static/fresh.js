// Brings the page up to date every ten seconds, unless somebody reads something they opened, or is about to press a button.
"use strict";

const open = () => document.querySelector("main details[open]") || document.querySelector("main form:focus-within");

setInterval(async () => {
  if (document.hidden || open()) return;
  try {
    const answer = await fetch(location.pathname);
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!open()) document.querySelector("main").replaceWith(fresh.querySelector("main"));
  } catch { /* away for a moment: the page stays as it is, with its date */ }
}, 10000);
