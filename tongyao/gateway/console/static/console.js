// Everything works without this script. It keeps pages fresh, drafts kept, and the reader's time zone known.
"use strict";

document.documentElement.classList.add("script");

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`tongyao_zone=${zone}`)) {
  document.cookie = `tongyao_zone=${zone}; path=/console; max-age=31536000; samesite=lax`;
}

// A draft is kept two seconds after the last key, and when the page is left.
for (const form of document.querySelectorAll("form[data-draft]")) {
  const kept = form.querySelector("[data-kept]");
  let timer, dirty = false;
  const keep = async () => {
    clearTimeout(timer);
    if (!dirty) return;
    dirty = false;
    const fields = new URLSearchParams(new FormData(form));
    fields.set("do", "keep");
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, keepalive: true });
      kept.textContent = answer.ok ? kept.dataset.kept : kept.dataset.lost;
    } catch {
      dirty = true;
      kept.textContent = kept.dataset.lost;
    }
  };
  form.addEventListener("input", () => { dirty = true; clearTimeout(timer); timer = setTimeout(keep, 2000); });
  form.addEventListener("submit", () => { dirty = false; clearTimeout(timer); });
  addEventListener("pagehide", keep);
}

// When somebody last pointed, scrolled or wrote, and where: nothing moves under their hands.
let touched = 0, pointed = null;
for (const one of ["pointermove", "pointerdown", "wheel", "touchmove", "keydown"]) {
  addEventListener(one, (event) => { touched = Date.now(); pointed = event.clientX ? [event.clientX, event.clientY] : pointed; }, { passive: true });
}

// The inbox looks every ten seconds whether something else waits, but never under somebody's hands; what just came of an answer is read first.
const look = () => document.querySelector("[data-look]");
if (look()) {
  setInterval(async () => {
    const reads = location.search.includes("done=") && performance.now() < 30000;
    if (document.hidden || reads || touched + 4000 > Date.now() || document.activeElement?.closest("main form")) return;
    try {
      const answer = await fetch(location.pathname);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      const found = next?.querySelector("[data-look]")?.dataset.look;
      if (answer.ok && found !== undefined && found !== look()?.dataset.look) location.replace(location.pathname);
    } catch { /* the next look may reach it */ }
  }, 10000);
}

// A live page loads itself anew when its process has changed, but never under somebody's hands.
const live = () => document.querySelector("[data-live]");
if (live()?.dataset.live) {
  const foot = document.querySelector("[data-foot]");
  const quiet = foot?.textContent;
  let stream, loading = false, again = false, loaded = 0;
  const writing = () => document.activeElement?.closest("main form");
  const load = async () => {
    if (loading) { again = true; return; }
    loading = true;
    const opened = [...document.querySelectorAll("main details")].map((one) => one.open);
    try {
      const answer = await fetch(location.href);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      if (answer.ok && next) {
        const hash = location.hash, before = kept();
        next.querySelectorAll("details").forEach((one, n) => { if (opened[n]) one.open = true; });
        document.querySelector("main").replaceWith(next);
        if (hash) { history.replaceState(null, "", location.pathname + location.search); location.hash = hash; }
        before();
        quietly();
        if (!live()?.dataset.live) stream.close();
        count();
      }
      if (answer.status === 429 || answer.status >= 500) setTimeout(load, 1000 + 2000 * Math.random());
    } catch { /* the stream says when the connection is back */ }
    loading = false;
    loaded = Date.now();
    if (again) { again = false; load(); } else follows();
  };
  // All who look at a process are told at the same moment. Each loads at a moment of their own in the next second, so that nobody waits for all
  // the others, and what follows shortly is in the same page. A page that nobody sees waits until somebody does.
  let soon;
  const changed = () => { soon ??= setTimeout(() => { soon = undefined; tell(); }, Math.max(0, loaded + 1000 - Date.now()) + 1000 * Math.random()); };
  // Nothing moves under somebody's hands: while they point, scroll or write, one line at the foot says that there is something new.
  let later;
  const tell = () => {
    clearTimeout(later);
    if (document.hidden) { document.addEventListener("visibilitychange", tell, { once: true }); return; }
    const wait = touched + 4000 - Date.now();
    if (!writing() && wait <= 0) { load(); return; }
    if (!foot.classList.contains("new")) {
      const show = document.createElement("button");
      show.type = "button";
      show.className = "plain";
      show.textContent = live().dataset.show ?? "";
      show.addEventListener("click", load);
      foot.replaceChildren(live().dataset.changed, " ", ...(live().dataset.show ? [show] : []));
      foot.classList.add("new");
    }
    later = setTimeout(tell, Math.max(wait, 1000));
  };
  const quietly = () => { clearTimeout(later); foot.classList.remove("new"); foot.textContent = quiet; };
  // What is looked at stays where it is: the section under the pointer, else the first one in sight.
  const place = () => {
    const parts = [...document.querySelectorAll("main [aria-labelledby], main > header")];
    const under = pointed && document.elementFromPoint(...pointed)?.closest("main [aria-labelledby], main > header");
    return under || parts.find((one) => one.getBoundingClientRect().bottom > 60);
  };
  const kept = () => {
    const part = place(), top = scrollY, name = part?.getAttribute("aria-labelledby"), at = part?.getBoundingClientRect().top;
    return () => {
      scrollTo({ top, behavior: "instant" });
      const now = part && document.querySelector(name ? `main [aria-labelledby="${CSS.escape(name)}"]` : "main > header");
      if (now) scrollBy({ top: now.getBoundingClientRect().top - at, behavior: "instant" });
    };
  };
  const follows = () => {  // what was just sent is not shown yet
    if (live()?.dataset.behind !== undefined) setTimeout(() => writing() ? follows() : load(), 2000);
  };
  const follow = () => {
    stream = new EventSource(live().dataset.live);
    stream.addEventListener("changed", changed);
    stream.addEventListener("open", () => { if (foot.textContent === live()?.dataset.away) { foot.textContent = quiet; tell(); } });
    stream.addEventListener("error", () => {
      foot.textContent = live().dataset.away;
      if (stream.readyState === EventSource.CLOSED) setTimeout(anew, 20000); // refused: a browser asks no more by itself
    });
  };
  const anew = async () => {
    if (!document.activeElement?.closest("main form")) await load();
    if (live()?.dataset.live) follow();
  };
  follow();
  follows();
}

// Who chooses people sees how many of them are asked themselves: only they can commit.
const asked = document.querySelector("[data-none]");
if (asked) {
  const form = asked.closest("form");
  const speaks = (name) => form.elements[`endpoint-${name}`]?.value ?? "proxy";
  const tell = () => {
    const named = form.elements.others.value.split(/\s+/).filter(Boolean);
    const all = [...form.querySelectorAll("[name=person]:checked")].map((one) => speaks(one.value)).concat(named.map(() => speaks("others")));
    const n = all.filter((one) => one && one !== "proxy").length;
    const words = n === 0 ? asked.dataset.none : n === all.length ? asked.dataset.all : asked.dataset.some;
    asked.textContent = all.length ? words.replace("{n}", n).replace("{all}", all.length) : "";
  };
  form.addEventListener("input", tell);
  tell();
}

// A key is copied; where the browser does not allow it, it is selected.
for (const button of document.querySelectorAll("[data-copy]")) {
  const shown = document.getElementById(button.dataset.copy);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(shown.textContent);
      button.textContent = button.dataset.copied;
    } catch { getSelection().selectAllChildren(shown); }
  });
}

// A footnote opens the list that it stands in.
addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  const target = link && document.getElementById(link.hash.slice(1));
  const closed = target?.closest("details:not([open])");
  if (closed) closed.open = true;
});

// A countdown, second by second; when it is over the page is loaded anew, unless somebody writes in it.
function count() {
  for (const shown of document.querySelectorAll("[data-countdown]")) countDown(shown);
}
function countDown(shown) {
  const end = Date.now() + 1000 * Number(shown.dataset.countdown);
  const tick = () => {
    const left = Math.max(0, Math.round((end - Date.now()) / 1000));
    const words = left >= 60 ? shown.dataset.minutes : left ? shown.dataset.seconds : shown.dataset.over;
    shown.textContent = words.replace("{m}", Math.floor(left / 60)).replace("{s}", left >= 60 ? left % 60 : left);
    if (left) return;
    clearInterval(timer);
    if (!document.querySelector("main details[open]")) setTimeout(() => location.reload(), 3000);
  };
  const timer = setInterval(tick, 1000);
  tick();
}
count();

// The model reads an intent when it is asked to: its answer comes as lines of JSON, each with all that it has found so far.
for (const button of document.querySelectorAll("button[data-ask]")) {
  const form = button.closest("form"), help = button.closest("details");
  const said = help.querySelector("[data-asking]");
  const show = (line) => {
    if (line.problem) said.textContent = line.problem;
    if (line.whole) said.textContent = said.dataset.asked;
    if (!line.found && !line.whole) return;
    for (const one of help.querySelectorAll("[data-read]")) {
      if (line.found) one.textContent = line.found[one.dataset.read] ?? "";
      else if (!one.textContent) one.textContent = help.dataset.missing;
    }
  };
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.textContent = said.dataset.asking;
    const fields = new URLSearchParams({ form_token: form.elements.form_token.value, intent: form.querySelector("#intent").value, do: "ask" });
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/x-ndjson" } });
      if (!answer.ok) throw new Error(answer.statusText);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop();
        lines.filter(Boolean).forEach((line) => show(JSON.parse(line)));
      }
    } catch { said.textContent = said.dataset.lost; }
    button.disabled = false;
  });
}
