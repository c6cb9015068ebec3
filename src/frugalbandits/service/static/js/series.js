// What the service says of a session over time, made into what is drawn. Bins in which nothing happened are not
// in its answer: here they are.

import { hasColour } from "./colours.js";

const BY_OPTION = ["asked", "told", "always"];
const NAMES = [...BY_OPTION, "spent", "delays", "answers"];
const sum = (values) => values.reduce((total, each) => total + each, 0);

// Workers say about once a second what they handed out: narrower bins would be empty by chance.
const NARROWEST = 2; // seconds
const MOST = 100; // bins

/** Return bins of equal width without gaps. */
export function filled(series) {
  let found = spread(series);
  while (found.times.length > 1 && (found.width < NARROWEST || found.times.length > MOST)) found = halved(found);
  return found;
}

/** Make two bins one. */
function halved(bins) {
  const found = { ...bins, width: 2 * bins.width, times: [] };
  for (const name of NAMES) found[name] = [];
  bins.times.forEach((time, place) => {
    const start = Math.floor(Math.round(time / bins.width) / 2) * found.width;
    const again = found.times.at(-1) === start;
    if (!again) found.times.push(start);
    for (const name of NAMES) {
      const value = bins[name][place];
      const before = again ? found[name].pop() : null;
      if (before === null) found[name].push(value);
      else found[name].push(Array.isArray(value) ? value.map((each, at) => each + before[at]) : value + before);
    }
  });
  return found;
}

function spread(series) {
  const { times, width } = series;
  if (!times.length) return series;
  const places = new Map(times.map((time, place) => [Math.round(time / width), place]));
  const first = Math.round(times[0] / width);
  const last = Math.round(times.at(-1) / width);
  const nothing = series.options.map(() => 0);
  const found = { options: series.options, width, times: [] };
  for (const name of NAMES) found[name] = [];
  for (let bin = first; bin <= last; bin += 1) {
    const place = places.get(bin);
    found.times.push(bin * width);
    for (const name of NAMES) {
      const none = BY_OPTION.includes(name) ? nothing : 0;
      found[name].push(place === undefined ? none : (series[name][place] ?? none));
    }
  }
  return found;
}

/** Leave out a last bin that is still going on: it would look as if traffic fell. */
function ended(bins) {
  const { times, width } = bins;
  const open = times.length > 2 && times.at(-1) + width > Date.now() / 1000;
  return open ? times.length - 1 : times.length;
}

/** Shares of traffic by option; options without a colour of their own are one. */
export function shares(bins) {
  const used = bins.options.filter((_, option) => bins.asked.some((bin) => bin[option] > 0));
  const named = used.filter(hasColour);
  const others = used.length - named.length;
  const places = new Map(bins.options.map((name, option) => [name, option]));
  const until = ended(bins);
  const totals = bins.asked.slice(0, until).map(sum);
  const lines = named.map((name) => ({
    name,
    values: totals.map((total, at) => (total ? bins.asked[at][places.get(name)] / total : null)),
  }));
  if (others) {
    const rest = totals.map((total, at) =>
      total ? Math.max(0, 1 - sum(lines.map((line) => line.values[at]))) : null,
    );
    lines.push({ name: null, count: others, values: rest });
  }
  // The last bin is as wide as the others.
  const times = bins.times.slice(0, until);
  if (times.length) times.push(times.at(-1) + bins.width);
  for (const line of lines) line.values.push(line.values.at(-1));
  return { times, lines };
}

function running(values) {
  let total = 0;
  return values.map((each) => (total += each ?? 0));
}

export function spent(bins) {
  return running(bins.spent);
}

/**
 * What all decisions would have cost for one option, up to each time. Before it came, its first price counts;
 * bills that differ from prices scale the whole, so that it ends at what the service says.
 */
export function always(bins, name, total) {
  const option = bins.options.indexOf(name);
  if (option < 0) return bins.times.map(() => null);
  const decisions = bins.asked.map(sum);
  const at = bins.always.findIndex((bin, place) => bin[option] > 0 && decisions[place] > 0);
  const price = at < 0 ? 0 : bins.always[at][option] / decisions[at];
  const costs = running(bins.always.map((bin, place) => (place < at ? price * decisions[place] : bin[option])));
  const last = costs.at(-1);
  const scale = last > 0 && total > 0 && Number.isFinite(total / last) ? total / last : 1;
  return costs.map((cost) => cost * scale);
}

const PACES = [
  [1, "a second"],
  [60, "a minute"],
  [3600, "an hour"],
  [86400, "a day"],
];

/** Decisions and feedback in the unit of time in which they are numbers above 1. */
export function paces(bins) {
  const until = ended(bins);
  const asked = bins.asked.slice(0, until).map((bin) => sum(bin) / bins.width);
  const told = bins.told.slice(0, until).map((bin) => sum(bin) / bins.width);
  const most = Math.max(0, ...asked, ...told);
  const [factor, words] = PACES.find(([size]) => most * size >= 1) ?? PACES.at(-1);
  const scaled = (values) => values.map((each) => each * factor);
  return { times: bins.times.slice(0, until), asked: scaled(asked), told: scaled(told), words };
}

/** How late feedback came on average, in seconds. */
export function delays(bins) {
  return bins.answers.map((answers, at) => (answers ? bins.delays[at] / answers : null));
}

/** Return about when a decision was handed out, by its number; null where that cannot be told. */
export function timeOf(bins, decision) {
  let before = 0;
  for (let at = 0; at < bins.times.length; at += 1) {
    const count = sum(bins.asked[at]);
    if (count && before + count >= decision) {
      return bins.times[at] + (bins.width * Math.max(0, decision - before)) / count;
    }
    before += count;
  }
  return bins.times.length ? bins.times.at(-1) + bins.width : null;
}
