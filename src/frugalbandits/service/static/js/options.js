// Options on the quality line: a table whose rows are pictures too, so that it needs no other form.

import { property } from "./colours.js";
import { arrange, byId, make, say, show } from "./dom.js";
import { amount, count, percent, quality } from "./format.js";

const MANY = 24; // rows; where there are more, those with the most decisions are shown first
const FEW = 16;
const COLUMNS = ["Option", "Quality", "Mean", "Interval", "Cost", "Decisions", "Judged", "Status"];
const NUMBERS = new Set(["Mean", "Interval", "Cost", "Decisions", "Judged"]);
const rows = new Map();
let scale = null;
let expanded = false;
let change = null;

/** Have rows with a way to change their option; `open` is called with it. */
export function allowChanges(open) {
  change = open;
}

export function drawOptions(session) {
  const arms = [...session.arms, ...session.retired];
  if (!scale) build();
  const range = rangeOf(session);
  drawScale(range, session.threshold);
  const visible = chosen(arms);
  const found = visible.map((arm) => drawRow(arm, session, range));
  for (const name of rows.keys()) if (!arms.some((arm) => arm.name === name)) rows.delete(name);
  arrange(byId("options").tBodies[0], found);
  const all = byId("all");
  show(all, arms.length > MANY);
  say(all, expanded ? `Show the ${FEW} with most traffic` : `Show all ${arms.length} options`);
}

function chosen(arms) {
  if (arms.length <= MANY || expanded) return arms;
  const most = [...arms].sort((a, b) => b.decisions - a.decisions).slice(0, FEW);
  return arms.filter((arm) => most.includes(arm));
}

function build() {
  const heads = COLUMNS.map((name) =>
    make("th", { role: "columnheader", scope: "col", class: className(name) }, ...(name === "Quality" ? [] : [name])),
  );
  heads.push(make("th", { role: "columnheader", scope: "col", class: "col-act" }, make("span", { class: "unseen" }, "Change")));
  scale = heads[1];
  scale.append(make("span", { class: "unseen" }, "Quality"), make("div", { class: "scale", "aria-hidden": "true" }));
  byId("options").tHead.append(make("tr", { role: "row" }, ...heads));
  byId("all").addEventListener("click", () => {
    expanded = !expanded;
    byId("all").dispatchEvent(new CustomEvent("redraw", { bubbles: true }));
  });
}

const className = (name) => `col-${name.toLowerCase()}${NUMBERS.has(name) ? " number" : ""}`;

/** Return the part of the line from 0 to 1 that holds all that is known, in round numbers. */
function rangeOf(session) {
  const seen = session.arms.filter((arm) => arm.pulls > 0);
  const ends = seen.flatMap((arm) => [arm.lcb ?? arm.mean, arm.ucb ?? arm.mean, arm.mean]);
  if (session.threshold !== null) ends.push(session.threshold);
  if (!seen.length) return { low: 0, high: 1, step: 0.25 };
  const least = Math.max(0, Math.min(...ends));
  const most = Math.min(1, Math.max(...ends));
  const step = [0.01, 0.02, 0.05, 0.1, 0.25].find((each) => (most - least) / each <= 5) ?? 0.25;
  const low = Math.max(0, Math.floor(least / step) * step);
  const high = Math.min(1, Math.max(Math.ceil(most / step) * step, low + step));
  return { low, high, step };
}

const placeOf = (value, { low, high }) => `${(100 * (value - low)) / (high - low)}%`;

function drawScale(range, threshold) {
  const box = scale.lastElementChild;
  const marks = [];
  for (let at = range.low; at <= range.high + 1e-9; at += range.step) {
    const mark = make("span", { class: "tick" }, String(Number(at.toFixed(2))));
    mark.style.left = placeOf(at, range);
    const near = threshold !== null && Math.abs(at - threshold) * (box.clientWidth || 260) < 38 * (range.high - range.low);
    if (!near) marks.push(mark);
  }
  if (threshold !== null) {
    const mark = make("span", { class: "tick bar" }, quality(threshold));
    mark.style.left = placeOf(Math.min(Math.max(threshold, range.low), range.high), range);
    marks.push(mark);
  }
  box.replaceChildren(...marks);
}

function newRow(name) {
  const cells = COLUMNS.map((column) =>
    make(column === "Option" ? "th" : "td", {
      role: column === "Option" ? "rowheader" : "cell",
      scope: column === "Option" ? "row" : undefined,
      class: className(column),
      data: { label: column },
    }),
  );
  const parts = {
    swatch: make("span", { class: "swatch", "aria-hidden": "true", data: { kind: "area" } }),
    label: make("span", { class: "label", title: name }, name),
    interval: make("span", { class: "interval" }),
    mean: make("span", { class: "mean" }),
    threshold: make("span", { class: "threshold" }),
    button: make("button", { type: "button", class: "quiet small", onclick: () => change?.(name) }, "Change"),
  };
  parts.button.setAttribute("aria-label", `Change ${name}`);
  cells[0].append(parts.swatch, parts.label);
  const line = make("div", { class: "line", "aria-hidden": "true" }, parts.interval, parts.threshold, parts.mean);
  parts.words = make("span", { class: "unseen" });
  cells[1].append(line, parts.words);
  const act = make("td", { role: "cell", class: "col-act" }, parts.button);
  return { ...parts, cells, element: make("tr", { role: "row" }, ...cells, act) };
}

function drawRow(arm, session, range) {
  if (!rows.has(arm.name)) rows.set(arm.name, newRow(arm.name));
  const row = rows.get(arm.name);
  const [, , mean, interval, cost, decisions, judged, status] = row.cells;
  row.element.dataset.standing = arm.standing;
  row.element.style.setProperty("--colour", `var(${property(arm.name)})`);
  const known = arm.pulls > 0 && arm.lcb !== null && arm.ucb !== null;
  const there = arm.standing !== "retired";
  show(row.interval, known && there);
  show(row.mean, arm.mean !== null && there);
  show(row.threshold, session.threshold !== null);
  if (known) {
    row.interval.style.left = placeOf(arm.lcb, range);
    row.interval.style.right = `calc(100% - ${placeOf(arm.ucb, range)})`;
  }
  if (arm.mean !== null) row.mean.style.left = placeOf(arm.mean, range);
  if (session.threshold !== null) row.threshold.style.left = placeOf(session.threshold, range);
  say(row.words, sideOf(arm, session.threshold, known));
  say(mean, quality(arm.mean));
  say(interval, known ? `${quality(arm.lcb)}–${quality(arm.ucb)}` : "–");
  say(cost, amount(arm.learned_cost ?? arm.cost));
  cost.title = arm.learned_cost === undefined ? "" : `learned; told at first: ${amount(arm.cost)}`;
  say(decisions, count(arm.decisions));
  decisions.title = session.decisions ? `${percent(arm.decisions / session.decisions)} of all decisions` : "";
  say(judged, count(arm.judged));
  judged.title = [
    ...(arm.pending ? [`${count(arm.pending)} more are pending`] : []),
    ...(arm.observed ? [`${count(arm.observed)} more rewards belong to no decision`] : []),
  ].join("; ");
  say(status, wordsOf(arm, session));
  status.dataset.mark = arm.name === session.decision ? "settled" : arm.status === "leader" ? "leader" : "";
  show(row.button, change !== null && there);
  return row.element;
}

/** Say what the picture shows. */
function sideOf(arm, threshold, known) {
  if (!known || threshold === null) return "not known yet";
  if (arm.lcb >= threshold) return "all of the interval is good enough";
  return arm.ucb < threshold ? "all of the interval is too low" : "the interval reaches to both sides of the bar";
}

function wordsOf(arm, session) {
  return arm.name === session.decision ? "settled on" : arm.status;
}
