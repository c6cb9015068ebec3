// The page of one session.

import { address, get, token } from "./api.js";
import { Chart } from "./charts.js";
import { handOut, property } from "./colours.js";
import { opened, refused, whoLooks } from "./door.js";
import { byId, make, say, show } from "./dom.js";
import { amount, count, duration, number, percent, quality, unitOf } from "./format.js";
import { keepUpToDate } from "./live.js";
import { drawLog } from "./log.js";
import { addOption, changeOption } from "./manage.js";
import { allowChanges, drawOptions } from "./options.js";
import { drawable, drawSegments, looksAt, price, reached } from "./routes.js";
import { always, delays, filled, paces, shares, spent } from "./series.js";

const name = decodeURIComponent(location.pathname.replace(/\/$/, "").split("/").at(-1));
const route = (...rest) => address("v1", "sessions", name, ...rest);
let session = null;
let bins = null;
let changes = null;
let taken = -1;

document.title = `${name} · frugalbandits`;
say(byId("name"), name);

async function update() {
  const who = await whoLooks();
  session = drawable(await get(route()));
  if (session.seen !== taken) {
    const [series, found] = await Promise.all([get(route("series")), get(route("changes"))]);
    bins = filled(series);
    changes = found;
    taken = session.seen;
  }
  opened();
  grant(who);
  draw();
}

function draw() {
  if (!session) return;
  handOut(bins.options, new Map(session.arms.map((arm) => [arm.name, arm.decisions])));
  drawHead();
  drawTiles();
  drawOptions(session);
  drawSegments(session);
  drawNext();
  drawLog(changes, bins);
  drawCharts();
}

// What may be done.

function grant(who) {
  if (who.admin) allowChanges((option) => changeOption(name, session.arms.find((arm) => arm.name === option), now));
  show(byId("add"), who.admin);
  const rights = byId("rights");
  if (who.admin || rights.children.length) return;
  rights.append(
    `You look with the token ${who.name}, of a ${who.role}: changes take an admin. `,
    make("button", { type: "button", class: "quiet", onclick: another }, "Use another token"),
  );
  show(rights);
}

function another() {
  token.forget();
  location.reload();
}

byId("add").addEventListener("click", () => addOption(name, now));

// The head.

function drawHead() {
  if (session.context) say(byId("key-mean"), "mean over all queries");
  say(byId("headline"), session.headline);
  const wish = {
    "relative-to-best": () => `gives up at most ${percent(session.quality.alpha)} of the best quality`,
    "relative-to": () => `gives up at most ${percent(session.quality.alpha)} of the quality of ${session.quality.reference}`,
    "at-least": () => `asks for a quality of at least ${number(session.quality.level)}`,
  }[session.quality.kind];
  const bar = session.threshold === null ? "" : ` · good enough from ${quality(session.threshold)}`;
  const looks = session.context ? ` · ${looksAt(session)}` : "";
  say(byId("terms"), `${session.policy}${looks}${wish ? ` · ${wish()}` : ""}${bar}`);
  // Numbers move all the time; whoever listens wants to hear of what is new.
  const words = session.headline.replace(/[\d,]+/g, "");
  if (words !== byId("spoken").dataset.words) {
    byId("spoken").dataset.words = words;
    say(byId("spoken"), session.headline);
  }
}

function drawTiles() {
  const { feedback } = session;
  const tiles = [
    ["Decisions", count(session.decisions), session.arms.length === 1 ? "1 option" : `${session.arms.length} options`],
    ["Spent", amount(session.spent), session.decisions ? `${amount(session.spent / session.decisions)} a decision` : ""],
    saved(`Saved against ${session.role}`, session.saving, session.always_baseline, session.baseline),
    reached(session),
    ["Judged", percent(feedback.rate), feedback.waiting ? `${count(feedback.waiting)} pending` : "none pending"],
    session.context ? price(session) : ["Feedback comes after", duration(feedback.mean_delay), "on average"],
  ];
  const list = byId("tiles");
  tiles.forEach(([label, value, note, mark], place) => {
    const tile =
      list.children[place] ??
      list.appendChild(make("div", {}, make("dt"), make("dd", { class: "value" }), make("dd", { class: "note" })));
    const [dt, dd, small] = tile.children;
    say(dt, label);
    say(dd, value);
    say(small, note);
    small.title = note;
    dd.dataset.mark = mark ?? "";
  });
}

function saved(label, saving, instead, option) {
  if (saving === null || instead === null) return [label, "–", "no feedback so far"];
  if (saving === 0) return [label, "0", `as much as always ${option}`];
  const share = instead > 0 ? `${percent(Math.abs(saving) / instead, 0)} ` : "";
  const words = saving < 0 ? "more than" : "less than";
  return [label, amount(saving), `${share}${words} always ${option}`, saving > 0 ? "good" : "bad"];
}

// What comes next.

function drawNext() {
  const planned = session.next;
  const recommended = session.decision ?? session.likely ?? session.candidate ?? session.standby[0];
  const parts = [];
  if (planned) {
    parts.push(make("p", {}, "The next decision is for ", make("b", {}, planned.option), `: ${planned.reason}.`));
  } else if (session.context && session.arms.some((arm) => arm.standing === "active")) {
    parts.push(make("p", {}, `The next query goes to the option with the least cost − ${amount(session.price)} × expected quality on that query, and now and then to another one, to learn.`));
  } else if (session.mix) {
    parts.push(make("p", {}, "The next decision keeps the average of all decisions at the bar."));
  } else if (session.question) {
    parts.push(make("p", {}, "The next decision asks a question, unless feedback answers it before."));
  } else if (recommended) {
    const why = session.decision ? "which was settled on" : "the best choice for now: no question is open";
    parts.push(make("p", {}, "The next decision will be for ", make("b", {}, recommended), `, ${why}.`));
  } else {
    parts.push(make("p", {}, "No option may be used now: all of them are paused."));
  }
  if (session.question) parts.push(make("p", {}, session.question));
  parts.push(...session.notes.map((note) => make("p", { class: "muted" }, note)));
  const box = byId("next");
  const text = parts.map((part) => part.textContent).join("\n");
  if (box.dataset.text !== text) box.replaceChildren(...parts);
  box.dataset.text = text;
}

// Curves.

const place = byId("charts");
const traffic = new Chart(place, "Share of traffic", "of all decisions", (value) => percent(value, 0), [0, 1]);
const money = new Chart(place, "Spent so far", "in units of cost", amount);
const pace = new Chart(place, "Decisions and feedback", "", number);
const late = new Chart(place, "Delay of feedback", "mean", duration);

function drawCharts() {
  const found = shares(bins);
  traffic.draw(
    found.times,
    found.lines.map((line) => ({
      key: line.name ?? "",
      name: line.name ?? `${line.count} others`,
      values: line.values,
      colour: line.name === null ? "--option-other" : property(line.name),
      stack: true,
    })),
  );
  money.draw(bins.times, spending());
  const flow = paces(bins);
  pace.draw(
    flow.times,
    [
      { key: "asked", name: "decisions", values: flow.asked, colour: "--accent" },
      { key: "told", name: "feedback", values: flow.told, colour: "--second", dash: [6, 4] },
    ],
    flow.words,
  );
  const delay = delays(bins);
  const [size, unit] = unitOf(Math.max(0, ...delay.filter((each) => each !== null)));
  const line = { key: "delay", name: "mean delay", values: delay, colour: "--accent" };
  late.draw(bins.times, [line], "on average", (value) => (value === null ? "–" : `${number(value / size)} ${unit}`));
}

function spending() {
  const lines = [{ key: "spent", name: "spent", values: spent(bins), colour: "--accent" }];
  const { baseline } = session;
  if (baseline !== null) {
    const values = always(bins, baseline, session.always_baseline);
    lines.push({ key: "best", name: `always ${baseline}, ${session.role}`, values, colour: property(baseline), dash: [7, 4] });
  }
  if (session.dearest !== baseline) {
    const values = always(bins, session.dearest, session.always_dearest);
    lines.push({ key: "dearest", name: `always ${session.dearest}, the most expensive`, values, colour: property(session.dearest), dash: [2, 4] });
  }
  return lines;
}

document.addEventListener("redraw", draw);
const now = keepUpToDate(update, (error) => refused(error, () => now()));
