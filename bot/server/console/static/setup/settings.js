// Settings in the configuration file: read, check, preview and save, with the difference shown before.

import { html, nothing } from "../vendor/lit.js";
import { ApiError, get, post } from "../api/client.js";
import { language, t } from "../texts/texts.js";
import { openDialog, toast } from "../ui/dialog.js";
import { FieldProblems } from "../ui/form.js";
import { explain } from "../ui/page.js";
import { allowed } from "../app/session.js";
import "./texts.js";

/** True for people who may change the configuration. */
export const configures = allowed("configure");

export const getSettings = () => (configures ? get("/api/settings") : Promise.resolve(null));

/** @type {Promise<any> | null} */
let options = null;

/** Platforms and providers that can be connected. They are found once, since this takes a moment. */
export function getOptions() {
  options ??= get(`/api/settings/options?locale=${language}`);
  options.catch(() => (options = null));
  return options;
}

/** Look for platforms and providers again at the next call. */
export const forgetOptions = () => (options = null);

/** Try a change of a model or an account without saving it: `{ok, problems, identity, invite_link, models}`. */
export const checkChange = (change, probe = false) => post("/api/settings/check", { change, probe });

const save = (path, body, version) => post(`/api/settings/${path}`, body, { headers: { "if-match": `"${version}"` } });

async function preview(changes) {
  const found = await post("/api/settings/preview", { changes });
  if (found.refused) throw new ApiError(403, found.refused);
  if (found.problems.length) throw new FieldProblems(found.problems);
  return found;
}

/** A unified difference with its lines coloured. */
export function difference(text) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  const lines = text.split("\n").filter((line) => line && !line.startsWith("+++") && !line.startsWith("---"));
  if (!lines.length) return html`<p class="quiet">${t("setup.noDifference")}</p>`;
  return html`<pre class="difference" tabindex="0" aria-label=${t("setup.difference")}>${lines.map(
    (line) => html`<span class=${kinds[line[0]] || ""}>${line}\n</span>`,
  )}</pre>`;
}

/** Say what was saved, and what waits for a restart; `said` is what else to say ("": nothing), `action` what may come next. */
function announce(applied, { said = t("setup.saved"), action = null } = {}) {
  if (applied.problems.length) toast(t("setup.savedWithProblems", { problems: applied.problems.map(({ text }) => text).join(" ") }), action);
  else if (applied.after_restart.length) toast(t("setup.savedForRestart", { sections: applied.after_restart.join(", ") }), action);
  else if (said) toast(said, action);
}

/**
 * Show the difference that changes make and save them once confirmed; returns what was applied, or null.
 * `version` is that of the file when the person began. Nothing is shown to who has left the page meanwhile.
 * Throws ApiError and FieldProblems.
 * @param {object[]} changes
 * @param {string} version
 * @returns {Promise<any>}
 */
export async function reviewChanges(changes, version, { title = t("setup.review"), danger = false } = {}) {
  const page = document.querySelector("#content > *");
  const found = await preview(changes);
  if (!page?.isConnected) return null;
  return confirmSave({ title, shown: found.difference, danger, version, again: () => preview(changes), write: (now) => save("apply", { changes }, now) });
}

/** Save changes without showing the difference: for what is obvious, such as a new credential. */
export async function applyChanges(changes, version, notice = {}) {
  await preview(changes);
  const applied = await save("apply", { changes }, version);
  announce(applied, notice);
  return applied;
}

/** Restore a version of the whole file. */
export const restoreVersion = (number, version, shown, { title = t("setup.restoreTitle", { number }), yes = t("setup.restore") } = {}) =>
  confirmSave({
    title,
    yes,
    shown,
    danger: false,
    version,
    again: () => get("/api/settings"),
    write: (now) => save("restore", { number }, now),
  });

/** @returns {Promise<any>} */
function confirmSave({ title, yes = t("app.save"), shown, danger, version, again, write }) {
  const state = { shown, version, problem: "", stale: false, busy: false, applied: null };
  return new Promise((resolve) => {
    const attempt = async (work, redraw) => {
      if (state.busy) return;
      Object.assign(state, { busy: true, problem: "" });
      redraw();
      try {
        await work();
      } catch (error) {
        Object.assign(state, error.status === 412 ? { stale: true } : { problem: explain(error) });
      }
      state.busy = false;
      redraw();
    };
    const view = (close, redraw) => {
      const press = () =>
        attempt(async () => {
          state.applied = await write(state.version);
          announce(state.applied);
          close("yes");
        }, redraw);
      const reload = () =>
        attempt(async () => {
          const found = await again();
          Object.assign(state, { version: found.version, shown: found.difference ?? state.shown, stale: false });
        }, redraw);
      return html`${state.stale
          ? html`<p class="banner warn" role="alert"><span class="grow">${t("setup.stale")}</span>
              <button class="button tiny" @click=${reload}>${t("setup.loadAgain")}</button></p>`
          : nothing}
        ${typeof state.shown === "string" ? difference(state.shown) : state.shown}
        ${state.problem ? html`<p class="problem" role="alert">${state.problem}</p>` : nothing}
        <div class="answers">
          <button class="button" @click=${() => close()}>${t("app.cancel")}</button>
          <button class="button primary ${danger ? "danger" : ""}" autofocus ?disabled=${state.busy || state.stale} @click=${press}>${yes}</button>
        </div>`;
    };
    openDialog(title, view, () => resolve(state.applied)).classList.add("wide");
  });
}

/** Problems of the file itself, above what it configures. */
export function fileProblems(settings) {
  if (!settings) return nothing;
  const texts = settings.problems.map(({ key, text, line }) => html`<li>${key ? html`<code>${key}</code> ` : nothing}${text}${line ? html` <span class="quiet">${t("setup.line", { line })}</span>` : nothing}</li>`);
  return html`${texts.length ? html`<div class="banner bad" role="alert"><div><strong>${t("setup.fileProblems", { file: settings.file })}</strong><ul>${texts}</ul></div></div>` : nothing}
    ${settings.writable ? nothing : html`<p class="banner warn">${t("setup.readOnly", { file: settings.file })}</p>`}`;
}
