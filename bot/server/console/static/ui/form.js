// A form from a small schema: labels, hints, live checks, errors beside their fields, secrets that can be revealed.

import { html, ifDefined, live, nothing, repeat } from "../vendor/lit.js";
import { ApiError } from "../api/client.js";
import { t } from "../texts/texts.js";
import { Element } from "./element.js";
import { icon } from "./icon.js";
import { explain } from "./page.js";

/**
 * `choices` are pairs of value and text, `offers` values to pick from beside free text, `extra` a template below the
 * field. `check` is called a moment after the value changed and returns `{ok, text}` (ok null: nothing to say).
 * `place` is the key in the configuration whose problems belong to the field.
 * @typedef {{key: string, label: string, hint?: unknown, type?: string, value?: any, required?: boolean, pattern?: string,
 *   wrong?: string, placeholder?: string, choices?: string[][], offers?: string[], place?: string, extra?: unknown, max?: number,
 *   accept?: string, check?: (value: any, values: Record<string, any>) => Promise<{ok: boolean | null, text?: string} | null>}} Field
 */

/** Problems of fields: `problems` are `{key, text}`, where key ends with a field's place or key. */
export class FieldProblems extends ApiError {
  constructor(problems) {
    super(422, problems.map(({ text }) => text).join("\n"));
    this.problems = problems;
  }
}

const WAIT = 600;
const isRefused = (checks) => Object.values(checks).some(({ state }) => state === "bad");
let forms = 0;

/**
 * `fields` is a list of fields, or a function of the values that returns one. `send(values)` saves; it may throw
 * ApiError or FieldProblems, and what was typed stays. `yes` is the text of its button, `more` a template beside it.
 * With `anyway`, it waits for live checks; what they refuse is sent by one more press of the button, which has that text.
 */
export class Form extends Element {
  static properties = {
    fields: { attribute: false },
    send: { attribute: false },
    yes: {},
    anyway: {},
    more: { attribute: false },
    danger: { type: Boolean },
    values: { state: true },
    errors: { state: true },
    checks: { state: true },
    problem: { state: true },
    busy: { state: true },
  };

  constructor() {
    super();
    this.uid = (forms += 1);
    /** @type {Field[] | ((values: Record<string, any>) => Field[])} */
    this.fields = [];
    /** @type {(values: Record<string, any>) => Promise<unknown>} */
    this.send = async () => null;
    this.yes = "";
    this.anyway = "";
    /** @type {unknown} */
    this.more = nothing;
    this.danger = false;
    /** @type {Record<string, any>} */
    this.values = {};
    /** @type {Record<string, string>} */
    this.errors = {};
    /** @type {Record<string, {state: string, text?: string}>} */
    this.checks = {};
    this.problem = "";
    this.busy = false;
    /** @type {Map<string, number>} */
    this.asked = new Map();
    this.shown = new Set();
  }

  /** The fields that are shown now. */
  get list() {
    return typeof this.fields === "function" ? this.fields(this.values) : this.fields;
  }

  willUpdate() {
    for (const { key, value } of this.list) if (!(key in this.values)) this.values[key] = value ?? "";
  }

  set(key, value) {
    this.values = { ...this.values, [key]: value };
    this.errors = { ...this.errors, [key]: "" };
    const field = this.list.find((one) => one.key === key);
    this.dispatchEvent(new CustomEvent("changed", { detail: key }));
    if (!field?.check) return;
    this.asked.set(key, (this.asked.get(key) || 0) + 1);
    this.checks = { ...this.checks, [key]: { state: "" } };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(field), WAIT);
  }

  /** Run the live check of a field; an older answer never replaces a newer one. */
  async check(field) {
    const turn = (this.asked.get(field.key) || 0) + 1;
    this.asked.set(field.key, turn);
    const value = this.values[field.key];
    if (!value || this.wrong(field)) return;
    this.checks = { ...this.checks, [field.key]: { state: "busy" } };
    const found = await field.check(value, this.values).catch((error) => ({ ok: false, text: explain(error) }));
    if (this.asked.get(field.key) !== turn) return;
    const state = !found || found.ok === null ? "" : found.ok ? "good" : "bad";
    this.checks = { ...this.checks, [field.key]: { state, text: found?.text } };
  }

  /** Run the live checks that have no result yet; return false if one of them refuses. */
  async isAccepted() {
    clearTimeout(this.timer);
    const open = this.list.filter(({ key, check }) => check && this.values[key] && !("text" in (this.checks[key] || {})));
    await Promise.all(open.map((field) => this.check(field)));
    return !open.length || !isRefused(this.checks);
  }

  /** @param {Field} field */
  wrong({ key, required, pattern, wrong }) {
    const value = this.values[key];
    if (required && (value === "" || value === null || value === undefined)) return t("form.required");
    if (pattern && value && !new RegExp(`^(?:${pattern})$`, "u").test(value)) return wrong || t("form.pattern");
    return "";
  }

  async submit(event) {
    event?.preventDefault();
    if (this.busy) return;
    this.problem = "";
    this.errors = Object.fromEntries(this.list.map((field) => [field.key, this.wrong(field)]));
    if (Object.values(this.errors).some(Boolean)) return this.focusProblem();
    this.busy = true;
    try {
      if (!this.anyway || (await this.isAccepted())) await this.send({ ...this.values });
      else this.focusProblem();
    } catch (error) {
      this.fail(error);
    }
    this.busy = false;
  }

  /** Show an error: beside the fields that it names, else above the buttons. */
  fail(error) {
    const rest = [];
    /** @type {Record<string, string>} */
    const errors = {};
    const add = (key, text) => (errors[key] = errors[key] ? `${errors[key]}\n${text}` : text);
    for (const { key, text } of error.problems || []) {
      const [, plain, at] = /^(.*?)(?:\[(\d+)\])?$/.exec(key);
      const field = this.list.find((one) => [one.place, one.key].includes(plain) || plain.endsWith(`.${one.place || one.key}`));
      if (field) add(field.key, at && field.type === "entries" ? `${this.values[field.key][at]}: ${text}` : text);
      // What a live check already shows isn't repeated.
      else if (!Object.values(this.checks).some((one) => one.state === "bad" && one.text?.includes(text))) rest.push(text);
    }
    this.errors = { ...this.errors, ...errors };
    this.problem = error.problems ? rest.join("\n") : explain(error);
    this.focusProblem();
  }

  async focusProblem() {
    await this.updateComplete;
    /** @type {HTMLElement | null} */ (this.querySelector("[aria-invalid=true], .form-problem"))?.focus();
  }

  input(field, id, about) {
    const { key, type = "text", required, placeholder } = field;
    const value = this.values[key];
    const invalid = this.errors[key] || this.checks[key]?.state === "bad" ? "true" : nothing;
    const changed = (event) => this.set(key, event.target.value);
    if (type === "choice") {
      return html`<select class="input" id=${id} name=${key} aria-describedby=${about} aria-invalid=${invalid} @change=${changed}>
        ${field.choices.map(([name, text]) => html`<option value=${name} ?selected=${name === String(value)}>${text}</option>`)}
      </select>`;
    }
    if (type === "area" || type === "code") {
      return html`<textarea class="input ${type === "code" ? "mono" : ""}" id=${id} name=${key} rows=${type === "code" ? 12 : 5}
        spellcheck=${type !== "code"} placeholder=${ifDefined(placeholder)} aria-describedby=${about} aria-invalid=${invalid}
        .value=${live(value)} @input=${changed}></textarea>`;
    }
    if (type === "file") {
      return html`<input class="input" type="file" id=${id} name=${key} accept=${ifDefined(field.accept)} aria-describedby=${about}
        aria-invalid=${invalid} @change=${(event) => this.set(key, event.target.files[0] || "")} />`;
    }
    if (type === "entries") {
      return html`<roe-entries .label=${field.label} .kind=${key} .value=${value || []} @entries=${(event) => this.set(key, event.detail)}></roe-entries>`;
    }
    const secret = type === "secret";
    const list = field.offers?.length ? `${id}-offers` : undefined;
    const kind = secret ? (this.shown.has(key) ? "text" : "password") : type;
    const reveal = () => {
      if (!this.shown.delete(key)) this.shown.add(key);
      this.requestUpdate();
    };
    return html`<span class="input-row">
      <input class="input ${secret ? "mono" : ""}" type=${kind} id=${id} name=${key} ?required=${required} list=${ifDefined(list)}
        autocomplete="off" spellcheck="false" placeholder=${ifDefined(placeholder)} min=${type === "number" ? "0" : nothing}
        aria-describedby=${about} aria-invalid=${invalid} .value=${live(value ?? "")} @input=${changed} />
      ${secret
        ? html`<button class="button icon" type="button" aria-pressed=${this.shown.has(key)} aria-label=${t("form.reveal", { label: field.label })}
            title=${t("form.reveal", { label: field.label })} @click=${reveal}>${icon(this.shown.has(key) ? "eye-off" : "eye")}</button>`
        : nothing}
      ${list ? html`<datalist id=${list}>${field.offers.map((one) => html`<option value=${one}></option>`)}</datalist>` : nothing}
    </span>`;
  }

  draw(field) {
    const id = `form${this.uid}-${field.key}`;
    const about = `${id}-about`;
    if (field.type === "check") {
      return html`<div class="field"><label class="check"><input type="checkbox" name=${field.key} .checked=${live(Boolean(this.values[field.key]))}
        aria-describedby=${about} @change=${(event) => this.set(field.key, event.target.checked)} /><span>${field.label}</span></label>
        <small id=${about}>${field.hint || nothing}</small></div>`;
    }
    const { state, text } = this.checks[field.key] || {};
    const error = this.errors[field.key] || (state === "bad" ? text : "");
    return html`<div class="field">
      <label for=${field.type === "entries" ? nothing : id}>${field.label}${field.required || ["entries", "choice", "number"].includes(field.type) ? nothing : html` <span class="quiet">${t("form.optional")}</span>`}</label>
      ${this.input(field, id, about)}
      <small id=${about} aria-live="polite">
        ${error ? html`<span class="problem">${icon("circle-alert")} ${error}</span>` : nothing}
        ${!error && state === "busy" ? html`<span>${icon("loader-circle")} ${t("form.checking")}</span>` : nothing}
        ${!error && state === "good" ? html`<span class="accepted">${icon("circle-check")} ${text || t("form.accepted")}</span>` : nothing}
        ${field.hint && !error && state !== "busy" && state !== "good" ? html`<span>${field.hint}</span>` : nothing}
      </small>
      ${field.extra || nothing}
    </div>`;
  }

  render() {
    return html`<form class="stack form" novalidate @submit=${this.submit}>
      ${repeat(this.list, ({ key }) => key, (field) => this.draw(field))}
      ${this.problem ? html`<p class="problem form-problem" role="alert" tabindex="-1">${this.problem}</p>` : nothing}
      <div class="answers">
        ${this.more}
        <button class="button primary ${this.danger ? "danger" : ""}" ?disabled=${this.busy}>
          ${this.busy ? html`${icon("loader-circle")}` : nothing}${(isRefused(this.checks) && this.anyway) || this.yes || t("app.save")}
        </button>
      </div>
    </form>`;
  }
}

customElements.define("roe-form", Form);
