// One colour an option, the same in all pictures. There are as many as people tell apart; where there are more
// options, those with the most traffic when the page was opened have one, and the others share a grey.

const SLOTS = 8;
const given = new Map();

/** Hand out colours that are left. `options` are in the order in which they came. */
export function handOut(options, traffic) {
  const without = options.filter((name) => !given.has(name));
  if (given.size + without.length > SLOTS) without.sort((a, b) => (traffic.get(b) ?? 0) - (traffic.get(a) ?? 0));
  for (const name of without) if (given.size < SLOTS) given.set(name, given.size + 1);
}

export const hasColour = (name) => given.has(name);

/** Return the name of the custom property that the style sheet gives a colour to. */
export function property(name) {
  return given.has(name) ? `--option-${given.get(name)}` : "--option-other";
}

/** Return a colour of the style sheet as it is now, light or dark: a canvas knows no custom properties. */
export function resolved(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
