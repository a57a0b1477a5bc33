// The report of an erasure: what was erased where, what is left, and the backups.

import { table } from "./components.js";
import { el } from "./dom.js";
import { number } from "./format.js";

/** What is counted, in the order of the report. */
const PLACES = [
  ["messages", "Messages and their answers"],
  ["deleted_threads", "Deleted conversations"],
  ["shared_threads", "Conversations with other people"],
  ["quotations", "Masked quotations in stored answers and messages"],
  ["files", "Files waiting for the agent"],
  ["schedules", "Schedules"],
  ["audit_events", "Masked audit events"],
];
const UNSUPPORTED = { storage: "database files" };
const RETRIES = "The service tries again by itself, also after a restart.";

/** Return the result of an erasure as a sentence. */
export function outcome(report, person) {
  return report.done ? `Data erased: ${person}.` : `Erasure not finished yet: ${person}.`;
}

/** Return a report as nodes: the result of an erasure, or its stored state. */
export function reportNodes(report) {
  const ended = report.done ?? Boolean(report.finished_at);
  const lines = problems(report).map((line) => el("p", { className: "problem" }, line));
  return [...lines, counts(report.erased, ended), ...backups(report.backups)];
}

function problems({ done, open_messages: open, remembers, unsupported = [] }) {
  const places = unsupported.map((place) => UNSUPPORTED[place] || place).join(", ");
  return [
    open ? `Messages still being answered: ${number(open)}. They are erased once they have been answered.` : "",
    remembers ? `The agent runtime is busy or not responding. ${RETRIES}` : "",
    done === false && !open && !remembers ? RETRIES : "",
    places ? `The agent runtime can't erase from: ${places}. Erase the data there yourself.` : "",
  ].filter(Boolean);
}

function counts(erased, ended) {
  const rows = PLACES.filter(([key]) => erased[key]).map(([key, label]) => [label, number(erased[key])]);
  if (!rows.length) return el("p", { className: "none" }, ended ? "Nothing was stored." : "Nothing has been erased so far.");
  return table("Erased data", ["Data", "Number"], rows);
}

function backups(paths) {
  if (!paths.length) return [el("p", { className: "none" }, "No existing backups are known.")];
  const lines = paths.map((path) => el("li", {}, path));
  return [
    el("p", {}, "Existing backups, which were not changed. Those made before the erasure still contain the data; delete them yourself."),
    el("ul", { className: "points" }, ...lines),
  ];
}
