// Who is here, as the service said with the page.

import { get } from "./api.js";
import { $ } from "./dom.js";

const { role, home, platform } = $("app").dataset;

/** Whether they may bring programs onto the machine. */
export const owner = role === "owner";

/** Whether they look after the bot; others see what is their own. */
export const isAdmin = role === "admin" || role === "owner";

/** The accounts whose conversations they can see. */
export async function accounts() {
  if (isAdmin) return (await get("/api/channels?limit=200")).channels;
  return [
    { account: "web", platform: "web" },
    { account: home, platform },
  ];
}
