// Schedules: the list, and one schedule with its runs.

import { call, get, post } from "../api.js";
import { el } from "../dom.js";
import { excerpt, number, time, zoned } from "../format.js";
import { badge, button, actionButton, facts, id, link, tableOrEmpty, fetchPages, section, toolbar } from "../components.js";
import { calendar } from "./calendar.js";
import { edit } from "./schedule-form.js";

const STATES = { active: "good", paused: "warn", done: "" };
const HEADS = ["Schedule", "Type", "When", "Chat", "State", "Next run", "Failures", "Actions"];

export async function draw(view) {
  if (view.rest === "calendar") return calendar(view);
  return view.rest ? one(view) : list(view);
}

async function list(view) {
  const { found, more } = await fetchPages(view, "/api/schedules", "schedules");
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
    tableOrEmpty("Schedules", HEADS, rows, "No schedules yet."),
    more,
  ];
}

async function one(view) {
  const path = `/api/schedules/${view.rest}`;
  const [schedule, runs] = await Promise.all([get(path), fetchPages(view, `${path}/runs`, "runs")]);
  const next = schedule.firings.map((at) => el("li", {}, zoned(at, schedule.zone)));
  return [
    toolbar(link("#/schedules", "All schedules"), link("#/schedules/calendar", "Calendar")),
    section(
      `Schedule ${schedule.id}`,
      facts([
        ["Text", schedule.text],
        ["Type", schedule.kind],
        ["When", `${schedule.when} (${schedule.zone})`],
        ["Rule", schedule.words],
        ["Chat", [schedule.account, schedule.chat, schedule.topic].filter(Boolean).join(" · ")],
        ["State", badge(schedule.state, STATES[schedule.state])],
        ["Created by", schedule.name || schedule.person],
        ["Created", time(schedule.made_at)],
        ["Consecutive failures", number(schedule.failures)],
      ]),
      actions(view, schedule, "#/schedules"),
    ),
    section(
      "Next runs",
      next.length ? el("ol", { className: "steps" }, ...next) : el("p", { className: "none" }, "No runs scheduled."),
    ),
    section("Past runs", runTable(runs.found, schedule.zone), runs.more),
  ];
}

function runTable(runs, zone) {
  const heads = ["Due", "Started", "Attempt", "Result", "Delivered", "Error", "Turn"];
  const rows = runs.map((run) => [
    zoned(run.due_at, zone),
    zoned(run.at, zone),
    number(run.attempt),
    run.skipped ? badge(`skipped: ${run.skipped}`, "warn") : run.state || "–",
    run.delivered ? badge("yes", "good") : badge("no", run.skipped ? "" : "warn"),
    [run.problem, run.missed ? `earlier runs missed: ${run.missed}` : ""].filter(Boolean).join("; "),
    run.turn ? link(`#/turns/${run.turn}`, `Turn ${run.turn}`) : "–",
  ]);
  return tableOrEmpty("Past runs", heads, rows, "No runs yet.");
}

/** Return the buttons of a schedule; `home` is the URL to open after deleting it. */
function actions(view, schedule, home = "") {
  const path = `/api/schedules/${schedule.id}`;
  const about = `schedule ${schedule.id}`;
  const does = (label, key, more) => actionButton(view, label, { id: `${key}-${schedule.id}`, about, ...more });
  const found = [];
  if (schedule.state === "active") {
    found.push(does("Pause", "pause", { work: () => post(`${path}/pause`), done: "Schedule paused." }));
  }
  if (schedule.state === "paused") {
    found.push(does("Resume", "resume", { work: () => post(`${path}/resume`), done: "Schedule resumed." }));
  }
  found.push(
    does("Run now", "trigger", {
      ask: `This runs “${excerpt(schedule.text)}” on ${schedule.account} now, in addition to its usual times.`,
      work: () => post(`${path}/trigger`),
      done: "Run started.",
    }),
    button("Edit", { id: `edit-${schedule.id}`, about, press: (made) => edit(view, made, schedule.id) }),
    does("Delete", "delete", {
      kind: "danger",
      ask: `This deletes “${excerpt(schedule.text)}” and its run history. It can't be undone.`,
      work: () => call("DELETE", path),
      done: "Schedule deleted.",
      to: home,
    }),
  );
  return toolbar(...found);
}
