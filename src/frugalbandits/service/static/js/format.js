// Numbers and times as people read them.

const LOCALE = "en";
const plain = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const digits = (count) => new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: count });
const four = digits(4);
const three = digits(3);
const NONE = "–";

const there = (value) => typeof value === "number" && Number.isFinite(value);

export function count(value) {
  if (!there(value)) return NONE;
  return Math.abs(value) < 1e10 ? plain.format(value) : power(value);
}

/** An amount of cost: short, but never wrong by more than a part in a thousand. */
export function amount(value) {
  if (!there(value)) return NONE;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e10 || size < 1e-4) return power(value);
  return minus(size >= 1e4 ? plain.format(value) : four.format(value));
}

function power(value) {
  const [mantissa, exponent] = value.toExponential(2).split("e");
  return minus(`${Number(mantissa)}e${Number(exponent)}`);
}

const minus = (text) => text.replace(/^-/, "\u2212");

export function percent(value, places = 1) {
  if (!there(value)) return NONE;
  if (Math.abs(value) >= 100) return `${power(100 * value)} %`;
  return `${minus((100 * value).toFixed(places).replace(/\.0+$/, ""))} %`;
}

export function quality(value) {
  return there(value) ? value.toFixed(3) : NONE;
}

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
  [1e-3, "ms"],
];

/** Return the unit, its name, that fits a duration in seconds. */
export function unitOf(seconds) {
  return UNITS.find(([size]) => seconds >= size) ?? UNITS.at(-1);
}

export function duration(seconds) {
  if (!there(seconds)) return NONE;
  if (seconds === 0) return "0 s";
  const [size, name] = unitOf(seconds);
  return `${three.format(seconds / size)} ${name}`;
}

export function number(value) {
  if (!there(value)) return NONE;
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e7 || size < 1e-3) ? power(value) : three.format(value);
}

const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const seconds = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });

/** Return a time of day, or a day, by how far apart the times are that it stands among. */
export function moment(at, apart) {
  const date = new Date(at * 1000);
  if (apart < 60) return seconds.format(date);
  return apart < 86400 ? clock.format(date) : day.format(date);
}

/** Return a day and a time where it was not today. */
export function when(at) {
  const date = new Date(at * 1000);
  const today = new Date().toDateString() === date.toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}
