// Sessions that look at queries: in the form of the others as far as they are alike, and what is theirs alone.

import { arrange, byId, make, say, show } from "./dom.js";
import { amount, count, percent, quality } from "./format.js";

const HEADS = ["Segment", "Decisions", "Judged", "Reached", "Cost each", "Mostly"];
const NUMBERS = new Set(["Decisions", "Judged", "Reached", "Cost each"]);

/** Return a session as the page draws it; what looks at no query stays nearly as it is. */
export function drawable(session) {
  const role = session.quality.kind === "relative-to" ? "the reference" : "the best";
  if (!session.context) return { ...session, role };
  const arms = session.options.map(armOf);
  const [, standing, money, , ...rest] = session.lines; // the price has a place of its own
  return {
    ...session,
    arms: arms.filter((arm) => arm.standing !== "retired"),
    retired: arms.filter((arm) => arm.standing === "retired"),
    threshold: session.bar,
    headline: standing,
    notes: [money, ...rest],
    baseline: session.told ? session.reference : null,
    role,
    always_baseline: session.always_reference,
    saving: session.told ? session.saving : null,
    decision: null,
    likely: null,
    candidate: null,
    question: null,
    mix: null,
    next: null,
  };
}

/** Quality is that over all queries, had the option taken each; the interval is of 95 %. */
function armOf(option) {
  const known = option.quality !== null;
  const reach = known ? 1.96 * option.error : 0;
  return {
    ...option,
    pulls: option.told,
    judged: option.told,
    observed: 0,
    pending: 0,
    mean: known ? option.quality : null,
    lcb: known ? Math.max(option.quality - reach, 0) : null,
    ucb: known ? Math.min(option.quality + reach, 1) : null,
    status: option.standing === "active" ? "in use" : option.standing,
  };
}

/** Say what is known of a query. */
export function looksAt({ context }) {
  const parts = [];
  if (context.segments) parts.push("the segment");
  if (context.features) parts.push(context.features === 1 ? "a feature" : `${context.features} features`);
  if (context.text) parts.push("the text");
  return `looks at ${parts.join(" and ")} of a query`;
}

/** The mean quality of all decisions, its 95 % interval, and the bar. */
export function reached({ reached: mean, reached_interval: interval, threshold, bar_interval: around }) {
  const label = "Quality reached";
  if (mean === null) return [label, "–", "no feedback so far"];
  const [low, high] = interval;
  const [least, most] = around ?? [threshold, threshold];
  const bar = threshold === null ? "not known yet" : least === most ? quality(threshold) : `${quality(threshold)} (${quality(least)}–${quality(most)})`;
  const mark = threshold === null ? "" : mean >= threshold ? "good" : high < least ? "bad" : "";
  return [label, quality(mean), `${quality(low)}–${quality(high)}; the bar is ${bar}`, mark];
}

export function price(session) {
  return ["A unit of quality", amount(session.price), "is worth as much now (λ)"];
}

export function drawSegments(session) {
  const rows = session.segments ?? [];
  show(byId("segments-panel"), rows.length > 0);
  if (!rows.length) return;
  const table = byId("segments");
  if (!table.tHead.rows.length) {
    table.tHead.append(make("tr", { role: "row" }, ...HEADS.map((name) => make("th", { role: "columnheader", scope: "col", class: classOf(name) }, name))));
  }
  arrange(table.tBodies[0], rows.map((row, place) => drawRow(row, table.tBodies[0].rows[place])));
}

const classOf = (name) => (NUMBERS.has(name) ? "number" : "");

function drawRow(row, given) {
  const found =
    given ??
    make(
      "tr",
      { role: "row" },
      ...HEADS.map((name, place) =>
        make(place ? "td" : "th", { role: place ? "cell" : "rowheader", scope: place ? undefined : "row", class: classOf(name), data: { label: name } }),
      ),
    );
  const values = [
    row.name,
    count(row.decisions),
    count(row.told),
    quality(row.mean),
    amount(row.spent / row.decisions),
    `${row.mostly} (${percent(row.share, 0)})`,
  ];
  values.forEach((value, place) => say(found.children[place], value));
  return found;
}
