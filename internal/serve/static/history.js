// Draws the charts of a history with uPlot. All that they say stands in the page without it, in the table of each: a
// point leads where its row does. What uPlot draws itself are the axes.
import {axis, binary, colour, dates, figures, logarithmic, widest} from "./axes.js";

const height = 220, reach = 24; // of the pointer, in pixels
const hint = "A click on a point opens its run, and one on a change compares the runs around it. Drag to look closer, double-click to go back. On the keyboard, arrow keys go from run to run and Enter opens one.";

const newChart = (figure) => {
  const drawing = JSON.parse(figure.dataset.drawing);
  const {changes, levels} = drawing;
  const points = drawing.points.map(([at, number, value, lo, hi, warned]) => ({at, number, value, lo, hi, warned}));
  const rows = [...figure.querySelectorAll("tbody tr")];
  const turns = [...figure.querySelectorAll("a.turn")];
  const words = rows.map((row) => {
    const [run, when, value, n, warnings] = [...row.cells].map((c) => c.textContent.trim());
    return {run, text: `${when} UTC, ${value}, ${n} ${n === "1" ? "repetition" : "repetitions"}` + (warnings && `, warnings: ${warnings}`)};
  });
  const add = (to, kind, more) => to.appendChild(Object.assign(document.createElement(kind), more));
  const canvas = document.createElement("div"), at = document.createElement("p");
  canvas.className = "canvas";
  canvas.role = "group";
  canvas.ariaLabel = `${figure.querySelector("figcaption b").textContent}, ${drawing.metric}: chart of ${points.length} runs`;
  at.className = "at";
  at.ariaLive = "polite";
  figure.querySelector("figcaption").after(canvas, at);

  // One link stands on the point that the pointer or the keyboard is at. The newest run is the first.
  const spot = Object.assign(document.createElement("a"), {className: "spot", draggable: false});
  let plot, byRun = false, chosen = points.length - 1;
  const across = (p) => byRun ? p.number : p.at;
  const range = () => byRun ? [1, drawing.count] : [drawing.first, drawing.last];
  const padded = (from, to, share, least) => { const pad = (to - from) * share || least; return [from - pad, to + pad]; };

  const upwards = () => {
    const values = points.map((p) => p.value);
    const least = Math.min(...values, drawing.from ?? Infinity), most = Math.max(...values, drawing.to ?? -Infinity);
    return drawing.log ? [least / 1.3, most * 1.3] : padded(least, most, .08, Math.abs(most) * .1 || 1);
  };

  const say = (i) => {
    at.replaceChildren();
    if (i === undefined) return;
    add(at, "a", {href: rows[i].querySelector("a").href, textContent: words[i].run, tabIndex: -1});
    at.append(" " + words[i].text);
  };
  const place = () => {
    const x = plot.valToPos(across(points[chosen]), "x"), y = plot.valToPos(points[chosen].value, "y");
    const width = plot.over.clientWidth;
    spot.classList.toggle("outside", x < -1 || x > width + 1);
    spot.style.transform = `translate(${Math.min(Math.max(0, x), width)}px, ${y}px)`;
  };
  // The keyboard leads out of what was zoomed to.
  const reveal = () => {
    if (spot.classList.contains("outside")) plot.setScale("x", {min: across(points[0]), max: across(points.at(-1))});
  };
  const choose = (i) => {
    chosen = i;
    spot.href = rows[i].querySelector("a").href;
    spot.ariaLabel = `run ${words[i].run}, ${words[i].text}`;
    place();
  };
  const nearest = (left, top) => {
    let best, distance = reach;
    points.forEach((p, i) => {
      const d = Math.hypot(plot.valToPos(across(p), "x") - left, plot.valToPos(p.value, "y") - top);
      if (d < distance) { best = i; distance = d; }
    });
    return best;
  };

  // Marks are links at the top of the lines that they belong to, where there is room for them.
  let marks = [];
  const placeMarks = () => {
    let free = -Infinity;
    marks.forEach((mark, i) => {
      const x = plot.valToPos(between(changes[i]), "x"), width = mark.offsetWidth;
      const left = Math.min(Math.max(0, x - width / 2), plot.over.clientWidth - width);
      mark.hidden = x < 0 || x > plot.over.clientWidth || left < free;
      mark.style.left = left + "px";
      if (!mark.hidden) free = left + width + 4;
    });
  };
  const between = (change) => (across(points[change - 1]) + across(points[change])) / 2;

  const draw = (u) => {
    const {ctx, bbox} = u, dot = u.pxRatio ?? devicePixelRatio;
    const x = (v) => u.valToPos(v, "x", true), y = (v) => u.valToPos(v, "y", true);
    const line = (x0, y0, x1, y1) => { ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); ctx.stroke(); };
    const top = bbox.top, bottom = bbox.top + bbox.height;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 4 * dot, bbox.top, bbox.width + 8 * dot, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colour("--ink");
    ctx.lineWidth = dot;
    ctx.setLineDash([4 * dot, 3 * dot]);
    for (const c of changes) line(x(between(c)), top, x(between(c)), bottom);
    ctx.setLineDash([]);
    const starts = [0, ...changes], ends = [...changes, points.length];
    ctx.strokeStyle = colour("--line");
    ctx.lineWidth = 5 * dot;
    levels.forEach((level, i) => line(x(across(points[starts[i]])) - 3 * dot, y(level), x(across(points[ends[i] - 1])) + 3 * dot, y(level)));
    const ink = colour(drawing.write ? "--write" : "--read"), paper = colour("--paper");
    ctx.strokeStyle = ctx.fillStyle = ink;
    for (const p of points) {
      const at = x(across(p)), size = 3.5 * dot;
      ctx.lineWidth = 1.25 * dot;
      if (p.lo !== null && p.hi !== null) {
        const [low, high] = [y(p.lo), y(p.hi)];
        line(at, Math.min(low, bottom), at, Math.max(high, top));
        for (const [end, over, back] of [[top, high < top, 1], [bottom, low > bottom, -1]]) {
          if (!over) continue;
          ctx.beginPath(); // an arrow: it goes on
          ctx.moveTo(at - size, end + back * size); ctx.lineTo(at, end + back * dot); ctx.lineTo(at + size, end + back * size);
          ctx.stroke();
        }
      }
      ctx.beginPath();
      if (drawing.write) {
        const s = size * 1.25;
        ctx.moveTo(at, y(p.value) - s); ctx.lineTo(at + s, y(p.value)); ctx.lineTo(at, y(p.value) + s); ctx.lineTo(at - s, y(p.value));
        ctx.closePath();
      } else ctx.arc(at, y(p.value), size, 0, 2 * Math.PI);
      ctx.fillStyle = p.warned ? paper : ink;
      ctx.fill();
      if (p.warned) ctx.stroke();
    }
    ctx.restore();
    place();
    placeMarks();
  };

  const make = (width) => {
    plot = new uPlot({
      width, height, padding: [20, 16, 0, 4], legend: {show: false}, tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"),
      scales: {
        // Zoomed in, it shows what was chosen; else all of the series, so that charts below each other agree.
        x: {time: !byRun, range: (_, from, to) => from <= across(points[0]) && to >= across(points.at(-1)) ? padded(...range(), .04, byRun ? .5 : 43200) : [from, to]},
        y: {distr: drawing.log ? 3 : 1, range: upwards},
      },
      series: [{}, {points: {show: false}, paths: () => null}],
      axes: [{...axis(), size: 38, space: 64, ...(byRun ? {incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]} : {values: dates})},
        {...axis(), size: widest, ...(drawing.log ? logarithmic(drawing.unit) : {values: (_, values) => figures(drawing.unit, values)}),
          ...(/^B/.test(drawing.unit) && !drawing.log ? {incrs: binary(upwards()[1])} : {})}],
      cursor: {y: false, x: false, points: {show: false}, drag: {x: true, y: false}},
      hooks: {draw: [draw], setCursor: [(u) => {
        if (document.activeElement === spot) return; // it stays where the keyboard has it
        const i = u.cursor.left < 0 ? undefined : nearest(u.cursor.left, u.cursor.top);
        spot.classList.toggle("near", i !== undefined);
        if (i !== undefined) choose(i);
        if (i !== undefined || u.cursor.left < 0) say(i);
      }]},
    }, [points.map(across), points.map((p) => p.value)], (u, ready) => {
      marks = turns.map((turn, i) => Object.assign(document.createElement("a"), {className: "mark", href: turn.href,
        textContent: turn.parentElement.firstChild.textContent.trim().split(/[\s,]/, 1)[0], title: turn.textContent,
        ariaLabel: "change of " + turn.parentElement.firstChild.textContent.trim().split(", since")[0] + ": " + turn.textContent}));
      u.over.append(...marks, spot);
      canvas.append(u.root);
      ready();
    });
    plot.over.addEventListener("click", (event) => {
      const finger = event.pointerType === "touch"; // which covers the point: the line below has the link
      if (event.target.closest("a.mark") || event.target === spot && !finger) return;
      const box = plot.over.getBoundingClientRect(), i = nearest(event.clientX - box.left, event.clientY - box.top);
      if (finger) event.preventDefault();
      if (i === undefined) return;
      choose(i);
      if (finger) say(i);
      else spot.click();
    });
    choose(chosen);
  };

  spot.addEventListener("keydown", (event) => {
    const to = {ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: points.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (!points[to]) return;
    choose(to);
    reveal();
    say(to);
  });
  spot.addEventListener("focus", () => { reveal(); say(chosen); });
  spot.addEventListener("blur", () => say());
  // A chart that is folded away has no width, and is drawn when it gets one.
  new ResizeObserver(() => {
    const width = Math.floor(canvas.clientWidth);
    if (width > 0 && !plot) make(width);
    else if (width > 0) plot.setSize({width, height});
  }).observe(canvas);

  return {
    redraw: () => plot?.redraw(false, true),
    turn: (runs) => {
      byRun = runs;
      if (!plot) return;
      plot.destroy();
      make(Math.floor(canvas.clientWidth) || plot.width);
    },
  };
};

const charts = [...document.querySelectorAll("figure.chart")].map(newChart);
if (charts.length) {
  for (const g of document.querySelectorAll(".charts, .charts-folded")) g.classList.add("drawn");
  document.querySelector(".charts").before(Object.assign(document.createElement("p"), {className: "reading on-screen", textContent: hint}));

  // What runs are along: the time, or one after the other where they came in bunches. The address keeps it.
  const label = document.createElement("label"), select = document.createElement("select");
  label.append("Along ", select);
  select.name = "along";
  select.append(new Option("time", ""), new Option("runs, one by one", "runs"));
  const address = new URL(location.href);
  select.value = address.searchParams.get("along") === "runs" ? "runs" : "";
  document.querySelector("form.filter button").before(label);
  select.addEventListener("change", () => {
    if (select.value) address.searchParams.set("along", select.value);
    else address.searchParams.delete("along");
    history.replaceState(null, "", address);
    for (const c of charts) c.turn(select.value === "runs");
  });
  if (select.value) for (const c of charts) c.turn(true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const c of charts) c.redraw(); });
}
