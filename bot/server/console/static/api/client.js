// Client of the public API.

import { language } from "../texts/texts.js";

export class ApiError extends Error {
  /** `status` is 0 if the service can't be reached; `body` is the response, if it was JSON. */
  constructor(status, detail, body = null) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

/**
 * Call the API and return its JSON (null for 204). Throws ApiError.
 * @param {string} method
 * @param {string} path
 * @param {object | FormData} [body]
 * @param {{headers?: Record<string, string>, signal?: AbortSignal}} [more]
 */
export async function call(method, path, body, more = {}) {
  const headers = { accept: "application/json", "accept-language": language, ...more.headers };
  const options = { method, headers, signal: more.signal };
  if (body instanceof FormData) options.body = body;
  else if (body !== undefined) {
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    setReachable(false);
    throw new ApiError(0, "");
  }
  setReachable(true);
  if (method !== "GET" && answer.ok) dispatchEvent(new Event("changed"));
  if (answer.status === 204) return null;
  const found = await answer.json().catch(() => null);
  if (answer.ok) return found;
  if (answer.status === 401 && path !== "/api/session") location.reload();
  throw new ApiError(answer.status, found?.detail || "", found);
}

export const get = (path, more) => call("GET", path, undefined, more);
export const post = (path, body, more) => call("POST", path, body, more);
export const put = (path, body, more) => call("PUT", path, body, more);
export const patch = (path, body, more) => call("PATCH", path, body, more);
export const remove = (path, more) => call("DELETE", path, undefined, more);

/** Return a path with the parameters that have a value. */
export function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

let reachable = true;

/** Note whether the service answers; the shell shows a line while it does not. */
export function setReachable(yes) {
  if (yes === reachable) return;
  reachable = yes;
  dispatchEvent(new CustomEvent("reachable", { detail: yes }));
}

/** Return an id that makes a repeated request have no effect. */
export function newEventId() {
  // randomUUID exists only on secure origins.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
