// Sign-in links: the code is in the fragment, so it reaches no server log, and it is removed from the URL at once.

import { post } from "./api.js";

const MARK = "#code=";

/** Remove the code from the URL and return it, "" if there is none. */
export function takeCode() {
  if (!location.hash.startsWith(MARK)) return "";
  const code = location.hash.slice(MARK.length);
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Sign in with a code. Throws ApiError. */
export async function signIn(code) {
  await post("/api/session", { code });
  location.replace(location.pathname);
}

/** Call `onCode` with each code in the URL, now or after a navigation. */
export function follow(onCode) {
  const look = () => {
    const code = takeCode();
    if (code) onCode(code);
  };
  addEventListener("hashchange", look);
  look();
}
