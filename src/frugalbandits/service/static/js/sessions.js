// The page that lists sessions.

import { address, get, token } from "./api.js";
import { opened, refused, whoLooks } from "./door.js";
import { arrange, byId, make, say, show } from "./dom.js";
import { amount, count, percent, quality } from "./format.js";
import { keepUpToDate } from "./live.js";
import { filled } from "./series.js";

const PAGE = 500; // sessions in one answer
const MOST = 2_000; // that are asked for
const SHOWN = 200; // rows
const FILTER = 20; // sessions from which on a filter is of use
const SPARKS = 20; // rows with a picture of their traffic
const SPARK_AGE = 30_000; // milliseconds
const COLUMNS = ["Session", "Cheapest good enough", "Decisions", "Traffic", "Judged", "Quality", "Bar", "Spent", "Saved"];
const CHOICES = { query: "by query", mix: "a mix" }; // sessions that do not look for one option
const SVG = "http://www.w3.org/2000/svg";

const rows = new Map();
let sessions = [];
let total = 0;

async function update() {
  await whoLooks();
  const found = [];
  let after = "";
  let page;
  do {
    const url = address("v1", "sessions");
    url.search = new URLSearchParams({ after, limit: PAGE });
    page = await get(url);
    found.push(...page.sessions);
    after = page.next;
  } while (after !== null && found.length < MOST);
  sessions = found;
  total = page.total;
  opened();
  draw();
  await drawSparks();
}

function draw() {
  show(byId("empty"), total === 0);
  show(byId("list"), total > 0);
  show(byId("filter"), total > FILTER);
  say(byId("count"), total ? `${count(total)} in this store` : "");
  if (total === 0) return drawExamples();
  const wanted = byId("filter").querySelector("input").value.trim().toLowerCase();
  const fitting = sessions.filter(
    (each) => !wanted || each.name.toLowerCase().includes(wanted) || each.likely?.toLowerCase().includes(wanted),
  );
  arrange(document.querySelector("tbody"), fitting.slice(0, SHOWN).map(drawRow));
  const rest = byId("rest");
  const hidden = fitting.length - SHOWN;
  show(rest, hidden > 0 || !fitting.length || sessions.length < total);
  if (!fitting.length) say(rest, "No session has this in its name or has such an option as the cheapest that is good enough.");
  else if (hidden > 0) say(rest, `${count(hidden)} more: the filter finds them.`);
  else if (sessions.length < total) say(rest, `The first ${count(sessions.length)} of ${count(total)} by name.`);
}

function newRow(session) {
  const cells = COLUMNS.map((label, place) =>
    make(place ? "td" : "th", {
      role: place ? "cell" : "rowheader",
      scope: place ? undefined : "row",
      class: label === "Traffic" ? "spark" : place > 1 ? "number" : "",
      data: { label },
    }),
  );
  cells[0].append(make("a", { href: address("sessions", session.name).pathname }, session.name));
  return { cells, element: make("tr", { role: "row" }, ...cells), drawn: 0 };
}

function drawRow(session) {
  if (!rows.has(session.name)) rows.set(session.name, newRow(session));
  const row = rows.get(session.name);
  const [, likely, decisions, , judged, reached, bar, spent, saved] = row.cells;
  say(likely, session.trouble ? "does not work" : (session.likely ?? CHOICES[session.choice] ?? "–"));
  likely.title = session.trouble ?? session.likely ?? "";
  likely.dataset.mark = session.trouble ? "bad" : "";
  if (session.decisions === null) {
    for (const cell of [decisions, judged, reached, bar, spent, saved]) say(cell, "–");
    return row.element;
  }
  say(reached, quality(session.reached));
  reached.title = session.reached_interval ? `95% interval ${session.reached_interval.map(quality).join("–")}` : "";
  say(bar, quality(session.threshold));
  const short = session.reached !== null && session.threshold !== null && session.reached_interval[1] < session.threshold;
  reached.dataset.mark = short ? "bad" : "";
  say(decisions, count(session.decisions));
  say(judged, percent(session.judged));
  say(spent, amount(session.spent));
  const before = session.saving + session.spent;
  const share = session.saving !== null && before > 0 ? ` (${percent(session.saving / before, 0)})` : "";
  say(saved, session.saving === null ? "–" : `${amount(session.saving)}${share}`);
  saved.title = session.baseline === null ? "" : `against always ${session.baseline}`;
  saved.dataset.mark = session.saving > 0 ? "good" : session.saving < 0 ? "bad" : "";
  return row.element;
}

// Traffic over time: small, so only for rows at the top, and not every time.

async function drawSparks() {
  if (sessions.length > SPARKS) return;
  for (const session of sessions) {
    const row = rows.get(session.name);
    if (!row || session.decisions === null || Date.now() - row.drawn < SPARK_AGE) continue;
    row.drawn = Date.now();
    const series = await get(address("v1", "sessions", session.name, "series"));
    row.cells[3].replaceChildren(spark(series));
  }
}

function spark(series) {
  const { times, width, asked } = filled(series);
  const image = document.createElementNS(SVG, "svg");
  image.setAttribute("viewBox", "0 0 100 24");
  image.setAttribute("preserveAspectRatio", "none");
  image.setAttribute("role", "img");
  image.setAttribute("aria-label", "Decisions over time");
  if (times.length < 3) return image;
  const sums = asked.map((bin) => bin.reduce((one, other) => one + other, 0));
  const most = Math.max(...sums, 1);
  const first = times[0];
  const span = times.at(-1) - first + width;
  const points = times.map((at, place) => `${(100 * (at - first + width / 2)) / span},${23 - (21 * sums[place]) / most}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.slice(0, -1).join(" "));
  line.setAttribute("vector-effect", "non-scaling-stroke");
  image.append(line);
  return image;
}

function drawExamples() {
  const url = address("v1", "sessions", "shop");
  const held = Boolean(token.get());
  const header = held ? ` \\\n     -H "Authorization: Bearer $FRUGALBANDITS_TOKEN"` : "";
  const body = `{"costs": {"small": 0.2, "large": 3.0}, "alpha": 0.1}`;
  say(byId("curl"), `curl -X PUT ${url}${header} \\\n     -H "Content-Type: application/json" \\\n     -d '${body}'`);
  const lines = [
    ...(held ? ["import json, os, urllib.request"] : ["import json, urllib.request"]),
    "",
    `url = "${url}"`,
    `body = json.dumps(${body}).encode()`,
    `headers = {"Content-Type": "application/json"}`,
    ...(held ? [`headers["Authorization"] = "Bearer " + os.environ["FRUGALBANDITS_TOKEN"]`] : []),
    `request = urllib.request.Request(url, body, headers, method="PUT")`,
    `with urllib.request.urlopen(request) as answer:`,
    `    print(json.load(answer)["headline"])`,
  ];
  say(byId("python"), lines.join("\n"));
}

byId("filter").addEventListener("input", draw);
const now = keepUpToDate(update, (error) => refused(error, () => now()), () => (sessions.length > 100 ? 10_000 : 2_000));
