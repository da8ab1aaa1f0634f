"use strict";

const root = document.currentScript.dataset.root;
const search = document.getElementById("search");
const input = search.elements.q;
const found = document.getElementById("found");
const most = 20; // results that are shown

const button = document.getElementById("contents");
button.addEventListener("click", () => {
  const open = document.getElementById("menu").classList.toggle("open");
  button.setAttribute("aria-expanded", open);
});

// The index is loaded when somebody searches, as a script: pages that were opened from a disk can't read other files.
let index;
function loadIndex() {
  index ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => done(searchIndex);
    script.onerror = failed;
    document.head.append(script);
  });
  return index;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// ranked are the parts of pages with all of the words; words in a heading count more than those below it.
function ranked(entries, words) {
  const starts = words.map((word) => new RegExp("(^|[^\\p{L}\\p{N}])" + escaped(word), "iu"));
  const scored = [];
  for (const entry of entries) {
    let score = 0;
    for (const start of starts) {
      const points = (start.test(entry.heading ?? entry.page) ? 8 : 0) + (start.test(entry.page) ? 4 : 0) + (start.test(entry.text) ? 1 : 0);
      if (points === 0) { score = 0; break; }
      score += points;
    }
    if (score > 0 && (entry.heading ?? "").toLowerCase() === words.join(" ").toLowerCase()) score += 20;
    if (score > 0) scored.push([score, entry]);
  }
  return scored.sort(([a], [b]) => b - a).map(([, entry]) => entry);
}

// excerpt is the text around the first of the words, with all of them marked.
function excerpt(text, words) {
  const first = text.search(new RegExp(words.map(escaped).join("|"), "i"));
  const from = Math.max(0, first - 60);
  const part = (from > 0 ? "…" : "") + text.slice(from, from + 180) + (from + 180 < text.length ? "…" : "");
  const small = document.createElement("small");
  for (const piece of part.split(new RegExp("(" + words.map(escaped).join("|") + ")", "i"))) {
    const known = words.some((word) => word.toLowerCase() === piece.toLowerCase());
    const node = known ? document.createElement("mark") : document.createElement("span");
    node.textContent = piece;
    small.append(node);
  }
  return small;
}

async function show() {
  const words = input.value.split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  if (words.length === 0) return;
  const entries = ranked(await loadIndex(), words);
  found.replaceChildren();
  for (const entry of entries.slice(0, most)) {
    const link = document.createElement("a");
    link.href = root + entry.place;
    const title = document.createElement("b");
    title.textContent = entry.heading ? entry.page + " › " + entry.heading : entry.page;
    link.append(title, excerpt(entry.text, words));
    link.addEventListener("click", () => { found.hidden = true; });
    found.append(link);
  }
  if (entries.length === 0) found.textContent = "No page has “" + words.join(" ") + "”.";
}

input.addEventListener("input", show);
input.addEventListener("focus", show);
search.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
document.addEventListener("click", (event) => { if (!search.contains(event.target)) found.hidden = true; });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") found.hidden = true;
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); input.focus(); }
});

input.value = new URLSearchParams(location.search).get("q") ?? "";
if (input.value) show();
