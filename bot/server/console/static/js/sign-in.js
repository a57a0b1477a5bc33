import { call, post } from "./api.js";
import { $, say } from "./dom.js";
import * as link from "./sign-in-link.js";

/** Do what signs in; what is wrong with it is said. */
async function tried(work) {
  say($("problem"), "");
  try {
    await work();
    return true;
  } catch (error) {
    say($("problem"), error.message);
    return false;
  }
}

link.follow((code) => tried(() => link.enter(code)));
$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const done = await tried(async () => {
    if ($("token")) await post("/api/session", { token: $("token").value });
    else await call("DELETE", "/api/session");
    location.reload();
  });
  if (!done) $("token")?.select();
});
