"use strict";
// Keeps the page of a run that goes on as new as the run: the server says that it has changed, and the page is fetched
// again. What is unfolded stays so.
const live = document.getElementById("live");

async function renew() {
  const answer = await fetch(location.href, {cache: "no-store"});
  if (!answer.ok) throw new Error(answer.statusText);
  const text = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = text.getElementById("content"), shown = document.getElementById("content");
  const key = (d) => d.querySelector("summary")?.textContent ?? "";
  const open = new Map([...shown.querySelectorAll("details")].map((d) => [key(d), d.open]));
  for (const d of now.querySelectorAll("details")) if (open.has(key(d))) d.open = open.get(key(d));
  shown.replaceChildren(...now.childNodes);
  document.title = text.title;
}

// To make the page of a long run takes the machine's time, which may be measured just now: what is spent on that stays
// a small share of all time.
const rest = 20; // times as long as the page took

function follow(from) {
  const events = new EventSource(from);
  let renewing = Promise.resolve(), waits = false, took = 0, renewed = -Infinity, hurry = () => {};
  const timed = async (say) => {
    const began = performance.now();
    try {
      await renew();
      live.textContent = say;
    } catch { /* the server is gone, or comes back: the next change tries again */ }
    renewed = performance.now();
    took = renewed - began;
  };
  events.addEventListener("changed", () => {
    if (waits) return; // for what has changed since, too
    waits = true;
    renewing = renewing
      .then(() => new Promise((go) => { hurry = go; setTimeout(go, renewed + rest * took - performance.now()); }))
      .then(() => { waits = false; return timed("Updated " + new Date().toLocaleTimeString()); });
  });
  events.addEventListener("ended", () => {
    events.close();
    hurry();
    renewing = renewing.then(() => timed("The run has ended."));
  });
  events.addEventListener("open", () => { if (!live.textContent) live.textContent = "The run goes on; this page follows it."; });
}

const from = document.getElementById("content").dataset.changes;
if (from) follow(from);
