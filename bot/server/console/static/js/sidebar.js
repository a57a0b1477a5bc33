// The list beside the page; on a small screen it is a drawer.

import { $, show } from "./dom.js";

const app = $("app");
const openers = ["open-side", "open-side-section"].map($);

function side(visible) {
  app.classList.toggle("open", visible);
  show($("backdrop"), visible);
  for (const opener of openers) opener.setAttribute("aria-expanded", String(visible));
  if (visible) $("close-side").focus();
}

export function closeSide() {
  if (app.classList.contains("open")) side(false);
}

for (const opener of openers) opener.addEventListener("click", () => side(true));
$("close-side").addEventListener("click", closeSide);
$("backdrop").addEventListener("click", closeSide);
addEventListener("keydown", (event) => event.key === "Escape" && closeSide());
