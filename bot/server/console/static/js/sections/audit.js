// Audit events, newest first.

import { time } from "../format.js";
import { button, field, tableOrEmpty, fetchPages, text, toolbar } from "../components.js";

const HEADS = ["Time", "Person", "Action", "Subject", "Details", "Chat"];

export async function draw(view) {
  const person = view.settings.get("person") || "";
  const { found, more } = await fetchPages(view, `/api/audit?person=${encodeURIComponent(person)}`, "entries");
  const rows = found.map((one) => [
    time(one.at),
    one.name ? `${one.name} (${one.person})` : one.person,
    one.action,
    one.subject,
    one.detail,
    [one.account, one.chat].filter(Boolean).join(" · "),
  ]);
  const who = text(person, { id: "person", maxLength: 256, placeholder: "platform:id" });
  const show = () => {
    const wanted = who.value.trim();
    location.hash = wanted ? `#/audit?person=${encodeURIComponent(wanted)}` : "#/audit";
  };
  who.addEventListener("keydown", (event) => event.key === "Enter" && show());
  return [
    toolbar(field("Person", who), button("Show", { id: "show", press: show })),
    tableOrEmpty("Audit log", HEADS, rows, person ? "No audit events for this person." : "No audit events yet."),
    more,
  ];
}
