// The sidebar; on small screens it is a drawer.

import { $, show } from "./dom.js";

const app = $("app");
const openers = ["open-side", "open-side-section"].map($);

function toggleSide(visible) {
  app.classList.toggle("open", visible);
  show($("backdrop"), visible);
  for (const opener of openers) opener.setAttribute("aria-expanded", String(visible));
  if (visible) $("close-side").focus();
}

export function closeSide() {
  if (app.classList.contains("open")) toggleSide(false);
}

for (const opener of openers) opener.addEventListener("click", () => toggleSide(true));
$("close-side").addEventListener("click", closeSide);
$("backdrop").addEventListener("click", closeSide);
addEventListener("keydown", (event) => event.key === "Escape" && closeSide());
