// Keeps a page up to date: asks every two seconds while somebody looks, says how old the numbers are when it
// cannot, and goes on by itself when it can again.

import { Away, Refused } from "./api.js";
import { byId, say, show } from "./dom.js";
import { duration } from "./format.js";

const EVERY = 2_000; // milliseconds
const SLOWEST = 5_000; // between two tries while the service is away

/** Call `update` again and again; return a way to have it called at once. `refuse` is told what was refused. */
export function keepUpToDate(update, refuse, every = () => EVERY) {
  let timer = 0;
  let running = false;
  let again = false;
  let failures = 0;
  let updated = 0;
  let stopped = false;

  async function turn() {
    clearTimeout(timer);
    if (document.hidden || stopped) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await update();
      failures = 0;
      updated = Date.now();
      show(byId("banner"), false);
    } catch (error) {
      if (error instanceof Refused) {
        stopped = refuse(error);
      } else {
        if (!(error instanceof Away)) console.error(error);
        failures += 1;
        bannerOf(error instanceof Away ? error : new Error("This page could not show what the service said."), updated);
      }
    } finally {
      running = false;
    }
    age();
    const wait = failures ? Math.min(every() * 1.5 ** (failures - 1), SLOWEST) : every();
    timer = setTimeout(turn, again ? 0 : wait);
    again = false;
  }

  function age() {
    if (!updated || stopped) return say(byId("age"), "");
    const old = Math.round((Date.now() - updated) / 1000);
    byId("age").dataset.state = failures ? "old" : "live";
    say(byId("age"), failures ? `${duration(old)} old` : "Live");
    if (failures) bannerOf(null, updated);
  }

  document.addEventListener("visibilitychange", turn);
  setInterval(age, 1_000);
  turn();
  return () => {
    stopped = false;
    return turn();
  };
}

let words = "";

function bannerOf(error, updated) {
  words = error?.message ?? words;
  const old = Math.round((Date.now() - updated) / 1000);
  const since = updated ? ` The numbers below are ${duration(old)} old.` : "";
  const banner = byId("banner");
  // A screen reader is told once, not with every second that passes.
  banner.setAttribute("aria-live", banner.hidden ? "polite" : "off");
  show(banner);
  say(banner, `${words}${since} Trying again by itself.`);
}
