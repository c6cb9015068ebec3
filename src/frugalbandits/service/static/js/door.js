// Who looks: asks for a token where one is needed, keeps it for as long as the tab is open, and forgets it.

import { address, get, token, upper } from "./api.js";
import { byId, make, say, show } from "./dom.js";

const FORM = /^[\x21-\x7e]+$/;
let holder = null;

/** Return who holds the token, asked for once; `admin` tells whether changes are allowed. */
export async function whoLooks() {
  if (holder === null) {
    const found = await get(address("v1", "holder"));
    holder = { ...found, admin: found.role === "admin" };
    say(byId("who"), found.tokens ? `${found.name} · ${found.role}` : "no tokens");
    byId("who").title = found.tokens
      ? `The token ${found.name} is for a ${found.role}`
      : "The service has no tokens, so only this machine is let in, and may do everything";
    show(byId("forget"), Boolean(token.get()));
  }
  return holder;
}

/** Show the form for a token, with why; `entered` is called when there is one. */
export function askForToken(words, entered) {
  holder = null;
  const door = byId("door");
  if (!door.hidden && door.querySelector("input")) {
    say(door.querySelector(".problem"), words ? upper(words) : "");
    door.querySelector("input").select();
    return;
  }
  const input = make("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    placeholder: "frugal_…",
    "aria-describedby": "token-problem",
  });
  const problem = make("p", { id: "token-problem", class: "problem", role: "alert" });
  const form = make(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        const value = input.value.trim();
        if (!FORM.test(value)) return say(problem, "A token has letters, digits and signs, and no blanks.");
        token.set(value);
        say(problem, "");
        return entered();
      },
    },
    make("h1", {}, "A token is needed"),
    make("p", {}, "This service shows sessions to those who hold a token. It is kept in this tab until you close it."),
    make("label", { for: "token" }, "Token"),
    make("div", { class: "together" }, input, make("button", { type: "submit", class: "main" }, "Look")),
    problem,
    make("p", { class: "muted" }, "Whoever runs the service makes one: ", make("code", {}, "frugal token add NAME --role reader")),
  );
  door.replaceChildren(form);
  show(byId("content"), false);
  show(door);
  say(problem, words ? upper(words) : "");
  input.focus();
}

/** Take the form away, and show what it hid. */
export function opened() {
  if (!byId("door").hidden) {
    show(byId("door"), false);
    byId("door").replaceChildren();
  }
  show(byId("content"));
}

/** Say what was refused in place of the content. */
function instead(words) {
  const door = byId("door");
  door.replaceChildren(make("h1", {}, "Not shown"), make("p", { class: "problem" }, `${upper(words)}.`));
  show(byId("content"), false);
  show(door);
}

/** Deal with what the service refused; return whether to stop asking. */
export function refused(error, again) {
  if (error.status === 401) {
    const given = Boolean(token.get());
    token.forget();
    show(byId("forget"), false);
    say(byId("who"), "");
    askForToken(given ? error.message : "", again);
  } else {
    instead(error.message);
  }
  return error.status === 401; // what is not there, or not for this token, may be there later
}

byId("forget").addEventListener("click", () => {
  token.forget();
  location.reload();
});
