// What was concluded and changed, newest first.

import { arrange, byId, make, say, show } from "./dom.js";
import { count, when } from "./format.js";
import { timeOf } from "./series.js";

const FEW = 12;
const WORDS = {
  price: "Price",
  added: "Added",
  paused: "Paused",
  resumed: "Resumed",
  retired: "Retired",
  alarm: "Drift",
  conclusion: "Concluded",
  dropped: "Given up",
  late: "Late",
};
let all = false;

export function drawLog({ changes, total }, bins) {
  const newest = [...changes].reverse();
  const shown = all ? newest : newest.slice(0, FEW);
  const list = byId("log");
  list.start = total;
  arrange(list, shown.map((change, place) => item(change, bins, list.children[place])));
  show(byId("log-none"), !total);
  show(byId("log-all"), newest.length > FEW);
  const gone = total - changes.length;
  const more = gone > 0 ? ` (${count(gone)} older are no longer kept)` : "";
  say(byId("log-all"), all ? "Show fewer" : `Show all ${count(newest.length)}${more}`);
}

function item(change, bins, given) {
  const found =
    given ??
    make("li", {}, make("span", { class: "kind" }), make("div", {}, make("p", {}, make("b"), make("span")), make("p", { class: "muted" })));
  const [kind, text] = found.children;
  const [line, below] = text.children;
  const [option, words] = line.children;
  kind.dataset.kind = change.kind;
  say(kind, WORDS[change.kind] ?? change.kind);
  say(option, change.option ?? "");
  say(words, change.option ? ` ${change.words}` : change.words);
  const at = timeOf(bins, change.decision);
  const about = at === null ? "" : ` · about ${when(at)}`;
  say(below, `decision ${count(change.decision)}${about}`);
  return found;
}

byId("log-all").addEventListener("click", () => {
  all = !all;
  byId("log-all").dispatchEvent(new CustomEvent("redraw", { bubbles: true }));
});
