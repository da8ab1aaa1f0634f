// What charts have in common: how their axes are drawn, and how numbers stand at them.
const font = "12px system-ui, sans-serif";
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const axis = () => ({stroke: () => colour("--muted"), font, grid: {stroke: () => colour("--line"), width: 1}, ticks: {show: false}});
export const widest = (u, values) => {
  if (!values) return 40;
  u.ctx.save();
  u.ctx.font = font;
  const most = Math.max(...values.map((v) => u.ctx.measureText(v ?? "").width));
  u.ctx.restore();
  return Math.ceil(most) + 12;
};

// As package unit writes them: what a base unit is times, the step of its prefixes, these, and what is behind them.
const latency = [1e9, 1000, [" ns", " µs", " ms", " s", " ks"]], rate = [1, 1000, ["", "k", "M", "G"]];
const units = {
  "1/s": rate, "count": rate, "s": latency, "s/op": [...latency, "/op"], "1": [100, Infinity, ["%"]],
  "J/op": [1e9, 1000, [" nJ", " µJ", " mJ", " J", " kJ"], "/op"],
  "B/s": [1, 1024, [" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"]], "B": [1, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]],
  "bit/s": [1, 1000, [" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s"]],
};
export const figures = (unit, values) => {
  const [times, step, prefixes, behind = ""] = units[unit] ?? [1, Infinity, [" " + unit]];
  const most = Math.max(...values.map(Math.abs)) * times;
  let i = 0;
  while (i < prefixes.length - 1 && most >= step ** (i + 1) * (1 - 1e-9)) i++;
  const prefix = (v) => v === 0 && !prefixes[i].startsWith(" ") ? "" : prefixes[i]; // no 0k
  return values.map((v) => +(v * times / step ** i).toPrecision(4) + prefix(v) + behind);
};
// Dates as the rest of the page has them, with the year or the day where another begins.
const dated = (least, format, year, day) => [least, format, year, null, day, null, null, null, 1];
export const dates = [dated(365 * 86400, "{YYYY}"), dated(28 * 86400, "{YYYY}-{MM}"), dated(86400, "{MM}-{DD}", "\n{YYYY}"),
  dated(60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}"), dated(1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", "\n{MM}-{DD}")];
// On a logarithmic scale each has its own prefix, and numbers are round in what they are shown in.
export const logarithmic = (unit) => ({
  filter: (_, values) => values, values: (_, values) => values.flatMap((v) => figures(unit, [v])),
  splits: (_, __, least, most) => {
    const step = units[unit]?.[1] === 1024 ? 1024 : 1000, some = [];
    for (let power = -12; 10 ** power <= most; power++) some.push(...[1, 2, 5].map((n) => Number(n + "e" + power)));
    const all = step === 1000 ? some : [0, 1, 2, 3, 4].flatMap((i) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1024 ** i));
    const within = all.filter((v) => v >= least && v <= most);
    return within.length > 7 ? within.filter((_, i) => i % 3 === 0) : within;
  },
});
// Round numbers of bytes are those of the prefix that the largest has.
export const binary = (most) => {
  const prefix = 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024))), steps = [];
  for (const n of [.001, .01, .1, 1, 10, 100]) for (const m of [1, 2, 5]) steps.push(n * m * prefix);
  return steps;
};
