import { post } from "./api.js";
import { $, say } from "./dom.js";

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  say($("problem"), "");
  try {
    await post("/api/session", { token: $("token").value });
    location.reload();
  } catch (error) {
    say($("problem"), error.message);
    $("token").select();
  }
});
