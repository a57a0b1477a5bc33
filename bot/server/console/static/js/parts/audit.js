// Who did what, newest first.

import { time } from "../format.js";
import { button, field, listing, pages, text, toolbar } from "../pieces.js";

const HEADS = ["When", "Who", "What", "To whom or what", "How", "Where"];

export async function draw(view) {
  const person = view.settings.get("person") || "";
  const { found, more } = await pages(view, `/api/audit?person=${encodeURIComponent(person)}`, "entries");
  const rows = found.map((one) => [
    time(one.at),
    one.name ? `${one.name} (${one.person})` : one.person,
    one.action,
    one.subject,
    one.detail,
    [one.account, one.chat].filter(Boolean).join(" · "),
  ]);
  const who = text(person, { id: "person", maxLength: 256, placeholder: "telegram:123456789" });
  const show = () => {
    const wanted = who.value.trim();
    location.hash = wanted ? `#/audit?person=${encodeURIComponent(wanted)}` : "#/audit";
  };
  who.addEventListener("keydown", (event) => event.key === "Enter" && show());
  return [
    toolbar(field("By or to", who), button("Show", { id: "show", press: show })),
    listing("Audit", HEADS, rows, person ? "Nothing was done by or to them." : "Nothing was done yet."),
    more,
  ];
}
