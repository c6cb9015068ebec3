// Changes by an admin: pause, resume, price, retire, add. One dialog, and what is refused is said in it.

import { Away, address, call, Refused, upper } from "./api.js";
import { byId, make, say } from "./dom.js";
import { amount } from "./format.js";

const dialog = byId("dialog");

function open(title, ...inside) {
  const problem = make("p", { class: "problem", role: "alert" });
  const close = make("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(
    make("h2", { id: "dialog-title" }, title),
    ...inside.map((part) => (typeof part === "function" ? part(problem) : part)),
    problem,
    make("div", { class: "buttons" }, close),
  );
  if (!dialog.open) dialog.showModal();
}

/** Have the service do something; close when it did, say why not otherwise. */
async function attempt(problem, made, method, url, body) {
  say(problem, "");
  const buttons = [...dialog.querySelectorAll("button")];
  for (const each of buttons) each.disabled = true;
  try {
    await call(method, url, body);
    dialog.close();
    await made();
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Away)) throw error;
    say(problem, `${upper(error.message)}.`);
  } finally {
    for (const each of buttons) each.disabled = false;
  }
}

/** Return the number in a field, or null: the words on why not are then in `problem`. */
function numberIn(input, problem) {
  const value = Number(input.value.trim().replace(",", "."));
  if (input.value.trim() !== "" && Number.isFinite(value)) return value;
  say(problem, `A price is a number, but it is “${input.value}”.`);
  input.focus();
  return null;
}

function priceField(value) {
  return make("input", { id: "price", inputmode: "decimal", autocomplete: "off", required: true, value });
}

export function changeOption(session, arm, made) {
  const url = address("v1", "sessions", session, "options", arm.name);
  const paused = arm.standing === "paused";
  const input = priceField(arm.cost);
  open(
    `Change ${arm.name}`,
    make("p", { class: "muted" }, `It is ${arm.standing}, at ${amount(arm.cost)} a use.`),
    (problem) =>
      make(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            const cost = numberIn(input, problem);
            if (cost !== null) attempt(problem, made, "PATCH", url, { cost });
          },
        },
        make("label", { for: "price" }, "Price of one use, from now on"),
        make("div", { class: "together" }, input, make("button", { type: "submit" }, "Set price")),
      ),
    (problem) =>
      make(
        "div",
        { class: "choice" },
        make("p", {}, paused ? "Let decisions be for it again." : "Leave it out of decisions until it is resumed."),
        make(
          "button",
          { type: "button", onclick: () => attempt(problem, made, "PATCH", url, { paused: !paused }) },
          paused ? "Resume" : "Pause",
        ),
      ),
    make(
      "div",
      { class: "choice" },
      make("p", {}, "Take it out for good."),
      make("button", { type: "button", class: "danger", onclick: () => confirmRetiring(url, arm, made) }, "Retire…"),
    ),
  );
}

function confirmRetiring(url, arm, made) {
  open(
    `Retire ${arm.name} for good?`,
    make(
      "p",
      {},
      "No decision will be for it again, and its name cannot be used again in this session. Feedback on decisions that " +
        "were handed out still counts.",
    ),
    (problem) =>
      make(
        "button",
        { type: "button", class: "danger", onclick: () => attempt(problem, made, "DELETE", url) },
        `Retire ${arm.name}`,
      ),
  );
  // What cannot be undone is not what Enter does.
  dialog.querySelector(".buttons button").focus();
}

export function addOption(session, made) {
  const name = make("input", { id: "option-name", autocomplete: "off", spellcheck: "false", required: true, maxlength: "200" });
  const input = priceField("");
  open("Add an option", (problem) =>
    make(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          const cost = numberIn(input, problem);
          if (cost === null) return;
          attempt(problem, made, "PUT", address("v1", "sessions", session, "options", name.value), { cost });
        },
      },
      make("label", { for: "option-name" }, "Name"),
      name,
      make("label", { for: "price" }, "Price of one use"),
      make("div", { class: "together" }, input, make("button", { type: "submit", class: "main" }, "Add")),
    ),
  );
}
