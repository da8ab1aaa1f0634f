// Reading a picture with the pointer: the row of its table that lies nearest is shown beside a hair line.
// Everything can be read without this.
for (const figure of document.querySelectorAll("figure")) {
  const drawing = figure.querySelector(".drawing");
  const heads = [...figure.querySelectorAll("thead th")].map((th) => th.textContent);
  const rows = [...figure.querySelectorAll("tbody tr[data-at]")].map((tr) => ({
    at: Number(tr.dataset.at),
    cells: [...tr.cells].map((td) => td.textContent),
  }));
  if (!drawing || !rows.length) continue;
  const hair = document.createElement("div");
  const tip = document.createElement("div");
  hair.className = "hair";
  tip.className = "tip";
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const near = rows.reduce((a, b) => (Math.abs(b.at - x) < Math.abs(a.at - x) ? b : a));
    tip.replaceChildren(...near.cells.map((text, i) => {
      const line = document.createElement("div");
      line.textContent = i ? `${heads[i]}: ${text}` : text + (heads[0] === "seconds" ? " s" : "");
      return line;
    }));
    drawing.append(hair, tip);
    hair.style.left = `${near.at * 100}%`;
    const side = near.at > 0.6;
    tip.style.left = side ? "" : `calc(${near.at * 100}% + 8px)`;
    tip.style.right = side ? `calc(${(1 - near.at) * 100}% + 8px)` : "";
  });
  drawing.addEventListener("pointerleave", () => { hair.remove(); tip.remove(); });
}

// One open sentence at a time, and none left open over the page.
document.addEventListener("click", (event) => {
  for (const mark of document.querySelectorAll("details.mark[open]")) {
    if (!mark.contains(event.target)) mark.open = false;
  }
});

// Paper has nothing to click on.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.paper")) part.open = true;
});
