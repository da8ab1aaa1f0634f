"use strict";
// Keeps the page of a run that goes on as new as the run: the server says that it has changed, and the page is fetched
// again. What is unfolded stays so.
const live = document.getElementById("live");

async function renew() {
  const answer = await fetch(location.href, {cache: "no-store"});
  if (!answer.ok) return;
  const text = new DOMParser().parseFromString(await answer.text(), "text/html");
  const now = text.getElementById("content"), shown = document.getElementById("content");
  const key = (d) => d.querySelector("summary")?.textContent ?? "";
  const open = new Map([...shown.querySelectorAll("details")].map((d) => [key(d), d.open]));
  for (const d of now.querySelectorAll("details")) if (open.has(key(d))) d.open = open.get(key(d));
  shown.replaceChildren(...now.childNodes);
  document.title = text.title;
}

function follow(from) {
  const events = new EventSource(from);
  let renewing = Promise.resolve();
  events.addEventListener("changed", () => {
    renewing = renewing.then(renew).then(() => { live.textContent = "Updated " + new Date().toLocaleTimeString(); });
  });
  events.addEventListener("ended", () => {
    events.close();
    renewing = renewing.then(renew).then(() => { live.textContent = "The run has ended."; });
  });
  events.addEventListener("open", () => { if (!live.textContent) live.textContent = "The run goes on; this page follows it."; });
}

const from = document.getElementById("content").dataset.changes;
if (from) follow(from);
