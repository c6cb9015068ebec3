// The API of the service this page came from, and the token of whoever looks at it.

const BASE = new URL("../../", import.meta.url);
const KEY = "frugalbandits.token";
const PATIENCE = 10_000; // milliseconds until an answer must have come

/** What the service refused, in its own words. */
export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** The service cannot be reached, or says that it cannot answer now. */
export class Away extends Error {}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Return the address of a page or a route, from parts that are escaped here. */
export function address(...parts) {
  return new URL(parts.map(encodeURIComponent).join("/"), BASE);
}

export async function call(method, url, body) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer, text;
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(PATIENCE),
    });
    text = await answer.text();
  } catch (error) {
    throw new Away("The service cannot be reached.", { cause: error });
  }
  const found = parsed(text);
  if (answer.ok) return found;
  const words = found?.detail ?? `The service answered ${answer.status}.`;
  if (answer.status >= 500) throw new Away(`${upper(words)}.`);
  throw new Refused(answer.status, words);
}

export const get = (url) => call("GET", url);

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** Return a sentence from the service's words. */
export function upper(words) {
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/\.$/, "");
}
