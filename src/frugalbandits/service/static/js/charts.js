// Curves over time, drawn by uPlot, each with a legend that is text and follows the pointer.

/* global uPlot */
import { resolved } from "./colours.js";
import { arrange, make, say } from "./dom.js";
import { moment } from "./format.js";

const HEIGHT = 210;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// Seconds between two times that are written below a picture.
const APART = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((each) => each * DAY),
];
const FONT = "12px system-ui, sans-serif";
const together = uPlot.sync("time");
const charts = new Set();

/**
 * A picture. A line has a `key`, a `name`, `values`, a `colour` (a custom property), and where wanted a `dash`, a
 * `fill`, or `stack`: then its values stand upon those of the lines before it.
 */
export class Chart {
  constructor(parent, title, unit, format, range) {
    this.format = format;
    this.range = range;
    this.legend = make("ul", { class: "legend" });
    this.place = make("div", { class: "plot", role: "img" });
    this.none = make("p", { class: "none muted" }, "Too little has happened to draw this.");
    this.unit = make("span", { class: "muted unit" }, unit);
    this.title = title;
    this.lines = [];
    this.shape = "";
    parent.append(
      make(
        "figure",
        { class: "panel chart" },
        make("figcaption", {}, make("h2", {}, title), this.unit),
        this.place,
        this.none,
        this.legend,
      ),
    );
    new ResizeObserver(() => this.resize()).observe(this.place);
    charts.add(this);
  }

  draw(times, lines, unit, format = this.format) {
    if (unit !== undefined) say(this.unit, unit);
    this.format = format;
    this.times = times;
    this.lines = lines;
    const empty = times.length < 3 || !lines.some((line) => line.values.some((each) => each !== null));
    this.none.hidden = !empty;
    this.place.hidden = empty;
    if (!empty) {
      const shape = JSON.stringify(lines.map(({ key, colour, dash, stack }) => [key, colour, dash, stack]));
      if (shape !== this.shape || !this.plot) this.rebuild(shape);
      else this.plot.setData(this.data());
    }
    this.tell();
  }

  data() {
    const rows = [];
    let below = this.times.map(() => 0);
    for (const line of this.lines) {
      if (!line.stack) {
        rows.push(line.values);
        continue;
      }
      const under = below;
      below = line.values.map((each, at) => (each === null ? null : Math.min((under[at] ?? 0) + each, 1)));
      rows.push(below);
    }
    // The highest of a stack is painted first, so that those below are painted over it.
    return [this.times, ...rows.reverse()];
  }

  rebuild(shape) {
    this.shape = shape;
    this.plot?.destroy();
    const ink = resolved("--muted");
    const axis = { stroke: ink, font: FONT, grid: { stroke: resolved("--grid"), width: 1 }, ticks: { show: false } };
    const painted = [...this.lines].reverse().map((line) => {
      const colour = resolved(line.colour);
      return {
        label: line.name,
        stroke: line.stack ? resolved("--panel") : colour,
        width: line.stack ? 1 : 2,
        dash: line.dash,
        fill: line.stack ? colour : undefined,
        paths: line.stack ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
        points: { show: (plot, _, first, last) => !line.stack && last - first < 2, size: 5 },
      };
    });
    this.plot = new uPlot(
      {
        width: Math.max(this.place.clientWidth, 100),
        height: HEIGHT,
        padding: [8, 26, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, sync: { key: together.key } },
        scales: { x: { time: true, range: (_, low, high) => [low, high] }, y: { range: this.range ?? fromZero } },
        series: [{}, ...painted],
        axes: [
          { ...axis, size: 30, space: 64, incrs: APART, values: (_, at, __, ___, apart) => at.map((each) => moment(each, apart)) },
          {
            ...axis,
            size: (_, labels) => 14 + 7 * Math.max(2, ...(labels ?? []).map((each) => each.length)),
            splits: (_, __, low, high) => marks(low, high),
            values: (_, at) => at.map((each) => this.format(each)),
          },
        ],
        hooks: { setCursor: [() => this.tell()] },
      },
      this.data(),
      this.place,
    );
  }

  resize() {
    const width = this.place.clientWidth;
    if (this.plot && width > 0) this.plot.setSize({ width, height: HEIGHT });
  }

  /** Say in words what the lines are, where the pointer is or last. */
  tell() {
    const pointed = this.plot?.cursor.idx;
    const items = this.lines.map((line, place) => {
      const at = pointed ?? line.values.findLastIndex((each) => each !== null);
      const item = this.legend.children[place] ?? entry();
      const [swatch, name, value] = item.children;
      swatch.style.setProperty("--colour", `var(${line.colour})`);
      swatch.dataset.kind = line.stack ? "area" : !line.dash ? "line" : line.dash[0] < line.dash[1] ? "dotted" : "dashed";
      say(name, line.name);
      say(value, at >= 0 && line.values[at] !== undefined ? this.format(line.values[at]) : "");
      return item;
    });
    arrange(this.legend, items);
    if (pointed === null || pointed === undefined) {
      const now = items.map((item) => `${item.children[1].textContent}: ${item.children[2].textContent}`);
      this.place.setAttribute("aria-label", `${this.title}, ${this.unit.textContent}; latest: ${now.join(", ")}`);
    }
  }
}

function entry() {
  return make("li", {}, make("span", { class: "swatch", "aria-hidden": "true" }), make("span", {}), make("b", {}));
}

/** Return round numbers, four or so, however large or small they are. */
function marks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5].find((each) => each * power >= rough) ?? 10);
  const found = [];
  for (let times = Math.ceil(low / step); times * step <= high * (1 + 1e-9); times += 1) found.push(times * step);
  return found;
}

function fromZero(_, low, high) {
  const least = Math.min(low ?? 0, 0);
  return high > least ? [least, high + 0.06 * (high - least)] : [least, least + 1];
}

// A canvas keeps the colours it was painted with.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) if (chart.plot) chart.rebuild(chart.shape);
});
