// Draws the loads of a cell over their time with uPlot, a line for each repetition. A part that the pointer or the
// keyboard chooses is drawn larger, as finely as it was written down.
import {axis, binary, colour, figures, widest} from "./axes.js";

const height = 260;
const hint = "Drag to look closer, double-click to go back. On the keyboard, arrow keys go along the time, with Shift ten times as far; plus and minus look closer and go back.";
const seconds = (v) => +v.toFixed(3) + " s";

const newChart = (figure) => {
  const drawing = JSON.parse(figure.dataset.drawing);
  const lines = drawing.lines;
  const data = uPlot.join(lines.map((l) => [l.at, l.values]));
  const times = data[0], most = Math.max(...lines.flatMap((l) => l.values));
  const write = drawing.write ? "--write" : "--read";
  const canvas = document.createElement("div"), said = document.createElement("p");
  canvas.className = "canvas";
  // A slider is what goes along something with arrow keys, and says where it is.
  canvas.role = "slider";
  canvas.tabIndex = 0;
  canvas.ariaLabel = figure.querySelector("figcaption b").textContent + ", time into the load";
  canvas.ariaValueMin = times[0];
  canvas.ariaValueMax = times.at(-1);
  canvas.ariaValueNow = times[0];
  said.className = "at";
  figure.querySelector("figcaption").after(canvas, said);
  figure.classList.add("drawn");

  let plot, at = 0, focused;
  // What each repetition did at a time; of many the lowest and the highest.
  const words = (i) => {
    const there = lines.map((l, n) => ({name: l.name, value: data[n + 1][i]})).filter((l) => l.value != null);
    const own = focused && data[focused][i] != null ? there.filter((l) => l.name === lines[focused - 1].name) : [];
    const few = own.length ? own : there;
    const text = few.length > 3
      ? figures(drawing.unit, [Math.min(...few.map((l) => l.value)), Math.max(...few.map((l) => l.value))]).join(" to ") + ` in ${few.length} repetitions`
      : few.map((l) => `${l.name} ${figures(drawing.unit, [l.value])[0]}`).join(", ");
    return seconds(times[i]) + ": " + text;
  };
  const say = (i) => {
    said.textContent = words(i);
    canvas.ariaValueNow = times[i];
    canvas.ariaValueText = said.textContent;
  };
  const go = (i) => {
    at = Math.min(Math.max(0, i), times.length - 1);
    const {min, max} = plot.scales.x;
    if (times[at] < min || times[at] > max) {
      const half = (max - min) / 2;
      show(times[at] - half, times[at] + half);
    }
    plot.setCursor({left: plot.valToPos(times[at], "x"), top: plot.over.clientHeight / 2}, false);
    say(at);
  };
  const all = () => [0, times.at(-1)];
  const show = (from, to) => {
    const [first, last] = all(), width = Math.min(to - from, last - first);
    const start = Math.min(Math.max(first, from), last - width);
    plot.setScale("x", {min: start, max: start + width});
  };
  const zoom = (by) => {
    const {min, max} = plot.scales.x, half = (max - min) / 2 * by;
    if (half * 2 < 2 * (times[1] - times[0])) return;
    show(times[at] - half, times[at] + half);
    go(at);
  };

  const make = (width) => {
    plot = new uPlot({
      width, height, padding: [12, 16, 0, 4], legend: {show: false}, focus: {alpha: .3},
      scales: {x: {time: false, range: (_, from, to) => [from, to]}, y: {range: () => [0, most * 1.05 || 1]}},
      series: [{}, ...lines.map((l) => ({label: l.name, stroke: () => colour(write), width: 1.25, spanGaps: true, points: {show: false}}))],
      axes: [{...axis(), size: 34, space: 64, values: (_, values) => values.map(seconds)},
        {...axis(), size: widest, values: (_, values) => figures(drawing.unit, values), ...(/^B/.test(drawing.unit) ? {incrs: binary(most)} : {})}],
      cursor: {y: false, points: {show: false}, focus: {prox: 16}, drag: {x: true, y: false}},
      hooks: {
        setSeries: [(_, i) => { focused = i ?? undefined; }],
        setCursor: [(u) => {
          if (document.activeElement === canvas && u.cursor.event === undefined) return;
          if (u.cursor.idx == null) { if (document.activeElement !== canvas) said.textContent = ""; return; }
          at = u.cursor.idx;
          say(at);
        }],
      },
    }, data, (u, ready) => { canvas.append(u.root); ready(); });
    plot.setScale("x", {min: all()[0], max: all()[1]});
  };

  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1;
    const to = {ArrowLeft: at - step, ArrowRight: at + step, ArrowDown: at - step, ArrowUp: at + step, PageDown: at - 10, PageUp: at + 10,
      Home: 0, End: times.length - 1}[event.key];
    if (to !== undefined) go(to);
    else if (event.key === "+") zoom(.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "Escape") { show(...all()); go(at); } else return;
    event.preventDefault();
  });
  canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) go(at); });
  canvas.addEventListener("blur", () => { said.textContent = ""; });
  new ResizeObserver(() => {
    const width = Math.floor(canvas.clientWidth);
    if (width > 0 && !plot) make(width);
    else if (width > 0) plot.setSize({width, height});
  }).observe(canvas);
  return {redraw: () => plot?.redraw(false, true)};
};

const charts = [...document.querySelectorAll("figure.over-time")].map(newChart);
if (charts.length) {
  document.querySelector("figure.over-time").before(Object.assign(document.createElement("p"), {className: "reading on-screen", textContent: hint}));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const c of charts) c.redraw(); });
}
