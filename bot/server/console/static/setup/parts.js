// What the setup pages share: entries of a list, an introduction with a link to the guide, a switch, tests.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { attempt, confirmDialog, openDialog, toast } from "../ui/dialog.js";
import { icon } from "../ui/icon.js";
import { findPage } from "../app/pages.js";
import { applyChanges, checkChange } from "./settings.js";
import "../ui/form.js";
import "./texts.js";

/**
 * An entry of a list: `lines` are templates below its name, `actions` on its right.
 * @param {{glyph: string, name: unknown, title?: string, badges?: unknown, lines?: unknown[], actions?: unknown, below?: unknown, link?: string}} entry
 */
export function entry({ glyph, name, title = "", badges = nothing, lines = [], actions = nothing, below = nothing, link = "" }) {
  const shown = link ? html`<a data-go href=${link}>${name}</a>` : name;
  return html`<li class="entry">
    <span class="entry-icon">${icon(glyph)}</span>
    <div class="entry-text">
      <div class="row"><strong class="words" title=${title || nothing}>${shown}</strong>${badges}</div>
      ${lines.filter(Boolean).map((line) => html`<p class="small quiet words">${line}</p>`)}
    </div>
    <div class="entry-actions">${actions}</div>
    ${below}
  </li>`;
}

/** A list of entries, or a note that there are none. */
export const entries = (label, items, none) =>
  items.length ? html`<ul class="card entries" aria-label=${label}>${items}</ul>` : html`<p class="card empty">${none}</p>`;

/** A sentence about the page, with a link to its guide. */
export const intro = (text, page = "") =>
  html`<p class="intro quiet">${text}${page && findPage("docs") ? html` <a data-go href="#/docs/${page}">${t("setup.guide")}</a>` : nothing}</p>`;

export const badge = (text, kind = "") => html`<span class="badge ${kind}">${text}</span>`;

/** A switch with its label for screen readers; it goes back if `change` fails. */
export function toggle(label, on, change, { disabled = false } = {}) {
  const flip = async (event) => {
    const box = event.target;
    box.disabled = true;
    const done = await attempt(async () => (await change(box.checked), true));
    if (!done) box.checked = on;
    box.disabled = false;
    box.focus();
  };
  return html`<input class="switch" type="checkbox" role="switch" aria-label=${label} title=${label} .checked=${on} ?disabled=${disabled} @change=${flip} />`;
}

/** Ask, do and say so; returns whether it was done. */
export async function confirmed(title, text, yes, work, done) {
  if (!(await confirmDialog(title, text, yes, { danger: true }))) return false;
  const result = await attempt(async () => (await work()) ?? true);
  if (result) toast(typeof done === "function" ? done(result) : done);
  return Boolean(result);
}

/**
 * A dialog with a `roe-form`; resolves to true once it was sent. `before` is shown above the fields.
 * @param {string} title
 * @param {{fields: any[], send: (values: any) => Promise<unknown>, yes?: string, anyway?: string, wide?: boolean, before?: unknown}} form
 * @returns {Promise<boolean>}
 */
export function formIn(title, { fields, send, yes = "", anyway = "", wide = false, before = nothing }) {
  return new Promise((resolve) => {
    const dialog = openDialog(
      title,
      (close) => html`${before}<roe-form .fields=${fields} .yes=${yes} .anyway=${anyway}
        .more=${html`<button class="button" type="button" @click=${() => close()}>${t("app.cancel")}</button>`}
        .send=${async (values) => (await send(values)) !== false && close("yes")}></roe-form>`,
      (value) => resolve(value === "yes"),
    );
    if (wide) dialog.classList.add("wide");
    const form = /** @type {import("../ui/form.js").Form} */ (dialog.querySelector("roe-form"));
    form.updateComplete.then(() => /** @type {HTMLElement | null} */ (form.querySelector("input, select, textarea"))?.focus());
  });
}

/**
 * A dialog that replaces secrets by `changeOf(values)`. They are tried first; what is refused is saved only on request. `good(found)` is said of what is accepted.
 * @param {string} title
 * @param {{fields: any[], changeOf: (values: any) => object, version: string, probe?: boolean, good?: (found: any) => string, notice?: object}} secrets
 */
export function replaceSecrets(title, { fields, changeOf, version, probe = false, good = () => "", notice = {} }) {
  const check = async (_, values) => {
    const found = await checkChange(changeOf(values), probe);
    return { ok: found.ok, text: found.ok ? good(found) : found.problems.map((one) => one.text).join(" ") };
  };
  const send = (values) => applyChanges([changeOf(values)], version, notice);
  return formIn(title, { fields: fields.map((field) => ({ ...field, type: "secret", check })), send, anyway: t("setup.saveAnyway") });
}
