"use strict";
// Adds a closer look, a search and the keyboard to flame graphs, which are whole pictures without it. Frames stand in
// the page in the order in which they call each other: those that a frame called are behind it, deeper.
for (const figure of document.querySelectorAll("figure.flame")) {
  const height = 18, letter = 7.3;
  const picture = figure.querySelector(".frames > svg");
  const frames = [...picture.children].map((e) => {
    const [name, text] = e.querySelector("title").textContent.split("\n");
    return {e, name, text, label: e.querySelector("text"), depth: Math.round(parseFloat(e.getAttribute("y")) / height),
      x: parseFloat(e.getAttribute("x")) / 100, width: parseFloat(e.getAttribute("width")) / 100, shown: true};
  });
  const callers = [];
  frames.forEach((f, i) => {
    f.caller = callers[f.depth - 1];
    callers[f.depth] = i;
    for (f.end = i + 1; f.end < frames.length && Math.round(parseFloat(frames[f.end].e.getAttribute("y")) / height) > f.depth;) f.end++;
  });
  let zoomed = -1, focused = 0;

  const add = (to, kind, more) => to.appendChild(Object.assign(document.createElement(kind), more));
  const tools = document.createElement("div");
  tools.className = "tools";
  const search = add(tools, "input", {type: "search", placeholder: "search functions", ariaLabel: "search functions"});
  const whole = add(tools, "button", {type: "button", textContent: "whole graph", disabled: true});
  const found = add(tools, "span", {role: "status"});
  const at = document.createElement("p");
  at.className = "at";
  at.ariaLive = "polite";
  figure.querySelector(".frames").before(tools, at);

  const say = (f) => {
    at.replaceChildren();
    if (!f) { at.textContent = "Click a frame, or press Enter on one, to look closer; arrow keys go from frame to frame, Escape back."; return; }
    add(at, "b", {textContent: f.name});
    at.append(" " + f.text);
  };

  // write puts as much of its name on a frame as there is room for.
  const write = () => {
    const room = picture.getBoundingClientRect().width;
    for (const f of frames) {
      if (!f.shown) continue;
      const letters = Math.floor((f.now * room - 8) / letter);
      const text = letters < 3 ? "" : f.name.length <= letters ? f.name : f.name.slice(0, letters - 1) + "…";
      if (!f.label && text) {
        f.label = document.createElementNS(picture.namespaceURI, "text");
        f.label.setAttribute("x", 4);
        f.label.setAttribute("y", 13);
        f.e.append(f.label);
      }
      if (f.label && f.label.textContent !== text) f.label.textContent = text;
    }
  };

  // look shows a frame in the whole width, with what it called and, paler, who called it; -1 is the whole graph.
  const look = (to) => {
    zoomed = to;
    const z = to < 0 ? {x: 0, width: 1, depth: -1, end: frames.length} : frames[to];
    const above = new Set();
    for (let i = to < 0 ? undefined : z.caller; i !== undefined; i = frames[i].caller) above.add(i);
    frames.forEach((f, i) => {
      f.shown = above.has(i) || i >= to && i < z.end;
      f.e.setAttribute("display", f.shown ? "inline" : "none");
      f.e.classList.toggle("below", above.has(i));
      if (!f.shown) return;
      f.now = above.has(i) ? 1 : f.width / z.width;
      f.e.setAttribute("x", (above.has(i) ? 0 : 100 * (f.x - z.x) / z.width) + "%");
      f.e.setAttribute("width", 100 * f.now + "%");
    });
    whole.disabled = to < 0;
    write();
    say(frames[to]);
  };

  const focus = (i) => {
    frames[focused].e.setAttribute("tabindex", -1);
    focused = i;
    frames[i].e.setAttribute("tabindex", 0);
    frames[i].e.focus({preventScroll: false});
  };

  // beside is the next frame that is shown at the same depth, in a direction.
  const beside = (i, step) => {
    for (let j = i + step; j >= 0 && j < frames.length; j += step) if (frames[j].shown && frames[j].depth === frames[i].depth) return j;
  };

  const find = () => {
    let test = null;
    try { if (search.value) test = new RegExp(search.value, "i"); } catch { test = {test: (name) => name.includes(search.value)}; }
    let count = 0, share = 0, until = 0;
    frames.forEach((f, i) => {
      const hit = test && test.test(f.name);
      f.e.classList.toggle("missed", test !== null && !hit);
      if (!hit) return;
      count++;
      if (i >= until) { share += f.width; until = f.end; }
    });
    found.textContent = !test ? "" : count === 0 ? "not found" : (100 * share).toPrecision(share < .1 ? 2 : 3) + "% of " + figure.dataset.total + ", in " + count + (count === 1 ? " frame" : " frames");
  };

  picture.setAttribute("role", "tree");
  frames.forEach((f, i) => {
    f.e.setAttribute("role", "treeitem");
    f.e.setAttribute("aria-level", f.depth + 1);
    f.e.setAttribute("aria-label", f.name + ", " + f.text);
    f.e.setAttribute("tabindex", i === 0 ? 0 : -1);
    f.e.addEventListener("click", () => { look(i === zoomed ? -1 : i); focus(i); });
    f.e.addEventListener("pointerenter", () => say(f));
    f.e.addEventListener("focus", () => say(f));
  });
  picture.addEventListener("pointerleave", () => say(frames[zoomed]));
  picture.addEventListener("keydown", (event) => {
    const f = frames[focused];
    const to = {ArrowUp: () => f.caller, ArrowDown: () => focused + 1 < f.end ? focused + 1 : undefined,
      ArrowLeft: () => beside(focused, -1), ArrowRight: () => beside(focused, 1)}[event.key];
    if (to) { const i = to(); if (i !== undefined && frames[i].shown) focus(i); }
    else if (event.key === "Enter" || event.key === " ") look(focused === zoomed ? -1 : focused);
    else if (event.key === "Escape") look(-1);
    else return;
    event.preventDefault();
  });
  whole.addEventListener("click", () => look(-1));
  search.addEventListener("input", find);
  new ResizeObserver(write).observe(picture);
  look(-1);
}
