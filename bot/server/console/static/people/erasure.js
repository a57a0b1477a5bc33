// Export and erase a person's data: the confirmation, the wait, and the report.

import { html, nothing } from "../vendor/lit.js";
import { ApiError } from "../api/client.js";
import { current } from "../app/session.js";
import { t } from "../texts/texts.js";
import { openDialog, toast } from "../ui/dialog.js";
import { number } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { explain } from "../ui/page.js";
import "./texts.js";

/** What is counted, in the order of the report. */
const PLACES = ["messages", "deleted_threads", "shared_threads", "quotations", "files", "schedules", "audit_events"];

export const dataPath = (person, part) => `/api/people/${encodeURIComponent(person)}/${part}`;

/** Return the message of an error, and whom to ask if the caller's role does not suffice. */
export const refusal = (error) => (error.status === 403 ? `${explain(error)} ${t("erase.reach")}` : explain(error));

/** A link that downloads a person's data. */
export const exportLink = (person) =>
  html`<a class="button" href=${dataPath(person, "data")} download="roebot-data.json">${icon("download")}${t("erase.export")}</a>`;

/** The report of an erasure: what was erased, what is left, and the backups. */
export function report(of) {
  const ended = of.done ?? Boolean(of.finished_at);
  const places = (of.unsupported || []).map((place) => (place === "storage" ? t("erase.storage") : place)).join(", ");
  const problems = [
    of.open_messages ? t("erase.open", { count: number(of.open_messages) }) : "",
    of.remembers ? `${t("erase.busy")} ${t("erase.retries")}` : "",
    of.done === false && !of.open_messages && !of.remembers ? t("erase.retries") : "",
    places ? t("erase.unsupported", { places }) : "",
  ].filter(Boolean);
  const counted = PLACES.filter((key) => of.erased[key]);
  return html`${problems.map((line) => html`<p class="problem">${line}</p>`)}
    ${counted.length
      ? html`<dl class="facts">${counted.map((key) => html`<div><dt>${t(`erase.place.${key}`)}</dt><dd>${number(of.erased[key])}</dd></div>`)}</dl>`
      : html`<p class="quiet">${t(ended ? "erase.nothing" : "erase.nothingYet")}</p>`}
    ${of.backups.length
      ? html`<p>${t("erase.backups")}</p><ul class="points">${of.backups.map((path) => html`<li class="words mono">${path}</li>`)}</ul>`
      : html`<p class="quiet">${t("erase.noBackups")}</p>`}`;
}

const outcome = (of, name) => t(of.done ? "erase.done" : "erase.unfinished", { name });

/** Delete a person's data without the sign-out that would take the page away together with the report. */
async function send(person) {
  let answer;
  try {
    answer = await fetch(dataPath(person, "data"), { method: "DELETE", headers: { accept: "application/json" } });
  } catch {
    throw new ApiError(0, "");
  }
  const found = await answer.json().catch(() => null);
  if (answer.ok) return found;
  throw new ApiError(answer.status, found?.detail || "");
}

/** Ask for confirmation, erase a person's data, and show the report. `finished()` is called at the end. */
export function eraseData(person, name, finished) {
  const own = person === current.person;
  const job = { stage: "ask", typed: "", problem: "", report: null };
  const shown = own ? t("erase.yours") : name;
  const heading = () =>
    ({ ask: own ? t("erase.askOwn") : t("erase.ask", { name }), wait: t("erase.working"), done: job.report && outcome(job.report, shown) })[job.stage];
  const erase = async (event, redraw) => {
    event.preventDefault();
    if (job.typed.trim() !== name) return;
    job.stage = "wait";
    draw(redraw);
    try {
      job.report = await send(person);
      job.stage = "done";
    } catch (error) {
      const refused = error.status >= 400 && error.status < 500;
      job.problem = refused ? `${t("erase.not")} ${refusal(error)}` : `${explain(error)} ${t("erase.unknown")}`;
      job.stage = "ask";
    }
    if (dialog.isConnected) draw(redraw);
    else if (job.report) end();
    else toast(job.problem);
  };
  const draw = (redraw) => {
    redraw();
    const title = /** @type {HTMLElement} */ (dialog.querySelector("h2"));
    title.textContent = heading();
    title.focus();
  };
  const end = () => {
    // Whoever erased their own data was signed out.
    if (own) return location.reload();
    toast(outcome(job.report, shown));
    return finished();
  };
  const content = (close, redraw) => html`${
    job.stage === "ask" ? html`<form class="stack" @submit=${(event) => erase(event, redraw)}>
      <ul class="points">${["erase.undo", own ? "erase.whatOwn" : "erase.what", "erase.shared", "erase.kept", own ? "erase.outOwn" : "erase.out"].map((key) => html`<li>${t(key)}</li>`)}</ul>
      <div class="field"><label for="confirm">${t("erase.confirm", { name })}</label>
        <input class="input" id="confirm" required maxlength="256" autocomplete="off" spellcheck="false" autocapitalize="off" .value=${job.typed}
          @input=${(event) => { job.typed = event.target.value; redraw(); }} /></div>
      ${job.problem ? html`<p class="problem" role="alert">${job.problem}</p>` : nothing}
      <div class="answers"><button class="button" type="button" @click=${() => close()}>${t("app.cancel")}</button>
        <button class="button primary danger" ?disabled=${job.typed.trim() !== name}>${t("erase.yes")}</button></div></form>`
    : job.stage === "wait" ? html`<progress aria-label=${t("erase.working")}></progress><p role="status">${t("erase.wait")}</p><p class="quiet">${t("erase.leave")}</p>
      <div class="answers"><button class="button" @click=${() => close()}>${t("app.close")}</button></div>`
    : html`${report(job.report)}<div class="answers"><button class="button primary" @click=${() => close()}>${own ? t("erase.signIn") : t("app.close")}</button></div>`}`;
  const dialog = openDialog(heading(), content, () => job.stage === "done" && end());
  /** @type {HTMLElement} */ (dialog.querySelector("#confirm")).focus();
}
