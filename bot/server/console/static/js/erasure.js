// Erase a person's data: the confirmation, the wait, and the report.

import { ApiError, call, reloadWhenSignedOut } from "./api.js";
import { button, field, text } from "./components.js";
import { self } from "./current-user.js";
import { openDialog } from "./dialog.js";
import { el, say } from "./dom.js";
import { outcome, reportNodes } from "./erasure-report.js";
import { showProblem, showStatus } from "./section-view.js";

const UNKNOWN = "If the request arrived, the erasure continues by itself; the Privacy section shows its state. Otherwise, try again.";
const REACH = "Ask an owner, or an admin of every account on this platform.";

export const dataPath = (person, part) => `/api/people/${encodeURIComponent(person)}/${part}`;

/** Return the message of an error, and whom to ask if the caller's role does not suffice. */
export function explainRefusal({ status, message }) {
  return status === 403 ? `${message} ${REACH}` : message;
}

/** Return a button that erases the data of a person (`platform:id`). */
export function eraseButton(view, person, { name = "", ...rest }) {
  const press = (made) => eraseData(view, made, person, name);
  return button("Erase data…", { ...rest, kind: "danger across", press });
}

async function eraseData(view, opener, person, name) {
  const own = person === self;
  const dialog = openDialog();
  const job = { person, name, own, open: true, report: null, problem: "" };
  dialog.closed.then(() => (job.open = false));
  showForm(dialog, job, () => erase(view, dialog, job));
  await dialog.closed;
  if (job.report) finish(view, opener, job);
}

/** Leave the report. Whoever erased their own data was signed out. */
function finish(view, opener, { own, report, person }) {
  if (own) return location.reload();
  if (view.closed) return null;
  showStatus(outcome(report, person));
  view.focus = opener.id;
  return view.load();
}

function showForm(dialog, job, send) {
  const { person, name, own } = job;
  const typed = text("", { required: true, maxLength: 256, spellcheck: false, autocapitalize: "off" });
  const problem = el("p", { className: "problem", role: "alert" });
  const no = closing(dialog, "Cancel");
  const ok = el("button", { type: "submit", className: "primary danger", disabled: true }, "Erase data");
  typed.addEventListener("input", () => (ok.disabled = typed.value.trim() !== person));
  const points = el("ul", { className: "points" }, ...consequences(own).map((line) => el("li", {}, line)));
  const form = el("form", {}, points, field(`To confirm, enter ${person}`, typed), problem, answers(no, ok));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  const whose = name ? `${name} (${person})` : person;
  dialog.show(own ? "Erase your data?" : `Erase the data of ${whose}?`, form);
  say(problem, job.problem);
  typed.focus();
}

/** Return what an erasure does, as sentences. */
function consequences(own) {
  const whose = own ? "your" : "this person's";
  return [
    "This can't be undone. To keep a copy, export the data in the Privacy section first.",
    `Erased: ${whose} messages on this platform and the answers to them, conversations that nobody else took part in, with their files, the agent's memory about ${own ? "you" : "them"}, schedules, chat record entries, and token usage before today.`,
    `In chats with other people, ${whose} messages, the answers to them, and quotations of them are erased. The agent starts over there with what others wrote: its threads are replaced, their files and its memory of groups are deleted, and each chat is notified.`,
    "Backups are not changed; the report lists those that exist. Roles, the audit log, and the messages on the platform itself are kept.",
    own ? "You are signed out of the web console." : "They are signed out of the web console.",
  ];
}

async function erase(view, dialog, job) {
  showProgress(dialog, job);
  // The page must stay, with the report, when the person's own session is erased.
  reloadWhenSignedOut(!job.own);
  try {
    job.report = await call("DELETE", dataPath(job.person, "data"));
  } catch (error) {
    reloadWhenSignedOut(true);
    return fail(view, dialog, job, error);
  }
  // Nothing more can be loaded into the section without a session.
  if (job.own) view.close();
  if (job.open) return showReport(dialog, job);
  return finish(view, { id: "" }, job);
}

function fail(view, dialog, job, error) {
  if (!(error instanceof ApiError)) console.error(error);
  const refused = error.status >= 400 && error.status < 500;
  job.problem = refused ? `Not erased. ${explainRefusal(error)}` : `${error.message} ${UNKNOWN}`;
  if (job.open) showForm(dialog, job, () => erase(view, dialog, job));
  else if (!view.closed) showProblem(job.problem);
}

function showProgress(dialog, { person, own }) {
  dialog.show(
    own ? "Erasing your data…" : `Erasing the data of ${person}…`,
    el("progress", { "aria-label": "Erasure in progress" }),
    el("p", { role: "status" }, "This can take several minutes."),
    el("p", { className: "quiet" }, "You can close this dialog: the erasure continues, and the Privacy section shows its state."),
    answers(closing(dialog, "Close", "plain")),
  );
}

function showReport(dialog, { report, person, own }) {
  const end = closing(dialog, own ? "Sign in again" : "Close", "primary");
  dialog.show(outcome(report, person), ...reportNodes(report), answers(end));
}

const answers = (...buttons) => el("div", { className: "answers" }, ...buttons);

function closing(dialog, label, className = "plain") {
  const made = el("button", { type: "button", className }, label);
  made.addEventListener("click", dialog.close);
  return made;
}
