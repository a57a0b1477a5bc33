// What is to happen when: the list, and one schedule with its firings.

import { call, get, post } from "../api.js";
import { el } from "../dom.js";
import { excerpt, number, time, zoned } from "../format.js";
import { badge, button, deed, facts, id, link, listing, pages, section, toolbar } from "../pieces.js";
import { calendar } from "./calendar.js";
import { edit } from "./schedule-form.js";

const STATES = { active: "good", paused: "warn", done: "" };
const HEADS = ["What", "Kind", "When", "Where", "State", "Next", "Failures", "Actions"];

export async function draw(view) {
  if (view.rest === "calendar") return calendar(view);
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const { found, more } = await pages(view, "/api/schedules", "schedules");
  const make = button("New schedule", { id: "new-schedule", kind: "primary", press: (made) => edit(view, made) });
  const rows = found.map((schedule) => [
    link(`#/schedules/${schedule.id}`, excerpt(schedule.text)),
    schedule.kind,
    `${schedule.when} (${schedule.zone})`,
    id(`${schedule.account} · ${schedule.chat}`),
    badge(schedule.state, STATES[schedule.state]),
    zoned(schedule.next_at, schedule.zone),
    number(schedule.failures),
    actions(view, schedule),
  ]);
  return [
    toolbar(make, link("#/schedules/calendar", "Calendar")),
    listing("Schedules", HEADS, rows, "Nothing is scheduled yet."),
    more,
  ];
}

async function one(view) {
  const path = `/api/schedules/${view.rest}`;
  const [schedule, runs] = await Promise.all([get(path), pages(view, `${path}/runs`, "runs")]);
  const next = schedule.firings.map((at) => el("li", {}, zoned(at, schedule.zone)));
  return [
    toolbar(link("#/schedules", "All schedules"), link("#/schedules/calendar", "Calendar")),
    section(
      `Schedule ${schedule.id}`,
      facts([
        ["What", schedule.text],
        ["Kind", schedule.kind],
        ["When", `${schedule.when} (${schedule.zone})`],
        ["Kept as", schedule.rule],
        ["Where", [schedule.account, schedule.chat, schedule.topic].filter(Boolean).join(" · ")],
        ["State", badge(schedule.state, STATES[schedule.state])],
        ["Made by", schedule.name || schedule.person],
        ["Made", time(schedule.made_at)],
        ["Failures in a row", number(schedule.failures)],
      ]),
      actions(view, schedule, "#/schedules"),
    ),
    section(
      "Next firings",
      next.length ? el("ol", { className: "steps" }, ...next) : el("p", { className: "none" }, "None."),
    ),
    section("Past firings", fired(runs.found, schedule.zone), runs.more),
  ];
}

function fired(runs, zone) {
  const heads = ["Due", "Began", "Try", "Run", "Delivered", "What went wrong", "Turn"];
  const rows = runs.map((run) => [
    zoned(run.due_at, zone),
    zoned(run.at, zone),
    number(run.attempt),
    run.skipped ? badge(`left out: ${run.skipped}`, "warn") : run.state || "–",
    run.delivered ? badge("yes", "good") : badge("no", run.skipped ? "" : "warn"),
    [run.problem, run.missed ? `${run.missed} before it came too late` : ""].filter(Boolean).join("; "),
    run.turn ? link(`#/turns/${run.turn}`, `Turn ${run.turn}`) : "–",
  ]);
  return listing("Past firings", heads, rows, "It has not fired yet.");
}

/** What can be done with a schedule; `home` is where the page goes when it is deleted. */
function actions(view, schedule, home = "") {
  const path = `/api/schedules/${schedule.id}`;
  const about = `schedule ${schedule.id}`;
  const does = (label, key, more) => deed(view, label, { id: `${key}-${schedule.id}`, about, ...more });
  const found = [];
  if (schedule.state === "active") {
    found.push(does("Pause", "pause", { work: () => post(`${path}/pause`), done: "It is paused." }));
  }
  if (schedule.state === "paused") {
    found.push(does("Resume", "resume", { work: () => post(`${path}/resume`), done: "It fires again." }));
  }
  found.push(
    does("Fire now", "trigger", {
      ask: `“${excerpt(schedule.text)}” is sent or asked in ${schedule.account} now.`,
      work: () => post(`${path}/trigger`),
      done: "It fires now.",
    }),
    button("Edit", { id: `edit-${schedule.id}`, about, press: (made) => edit(view, made, schedule.id) }),
    does("Delete", "delete", {
      kind: "danger",
      ask: `“${excerpt(schedule.text)}” and the list of its firings go away for good.`,
      work: () => call("DELETE", path),
      done: "It is deleted.",
      to: home,
    }),
  );
  return toolbar(...found);
}
