// A link out of the chat: its code is in the fragment, which no server sees and which does not stay in the address.

import { post } from "./api.js";

const MARK = "#code=";

/** The code in the address, which has none from here on; "" for none. */
export function taken() {
  if (!location.hash.startsWith(MARK)) return "";
  const code = location.hash.slice(MARK.length);
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Sign in by a code; raises ApiError. */
export async function enter(code) {
  await post("/api/session", { code });
  location.replace("/");
}

/** Call `came` with each code that comes with the address, now or later. */
export function follow(came) {
  const look = () => {
    const code = taken();
    if (code) came(code);
  };
  addEventListener("hashchange", look);
  look();
}
