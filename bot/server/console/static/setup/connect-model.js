// The form that connects a model: provider or address, key, the provider's list, a test, the default.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";
import { FieldProblems } from "../ui/form.js";
import { icon } from "../ui/icon.js";
import { explain } from "../ui/page.js";
import { isOwner } from "../app/session.js";
import { intro } from "./parts.js";
import { checkChange, forgetOptions, getOptions, reviewChanges } from "./settings.js";

const OTHER = "other";

export const connectModel = (settings, done) => html`<roe-connect-model .settings=${settings} .done=${done}></roe-connect-model>`;

class ConnectModel extends Element {
  static properties = { settings: { attribute: false }, done: { attribute: false }, providers: { state: true }, models: { state: true }, failed: { state: true } };

  constructor() {
    super();
    /** @type {any} */
    this.settings = null;
    /** @type {() => unknown} */
    this.done = () => null;
    /** @type {any[] | null} */
    this.providers = null;
    /** @type {string[]} */
    this.models = [];
    this.failed = "";
  }

  async connectedCallback() {
    super.connectedCallback();
    forgetOptions();
    try {
      // The small model and the guide need no setup.
      this.providers = (await getOptions()).providers.filter(({ name }) => !["local", "guide"].includes(name));
    } catch (error) {
      this.failed = explain(error);
    }
  }

  provider(values) {
    return this.providers.find(({ name }) => name === values.provider);
  }

  /** The change that the values describe; `model` is "" to ask for the provider's list. */
  change(values, model = values.model) {
    const known = this.provider(values);
    return {
      kind: "model",
      name: values.name || slug(model) || "new",
      model,
      ...(known ? { provider: known.name } : { base_url: values.base_url }),
      ...(values.api_key ? { api_key: values.api_key } : {}),
      ...(values.default ? { default: true } : {}),
    };
  }

  /** Ask the provider for its models: this also checks the key, below which a refusal is shown. */
  async list(values, key = "api_key") {
    const found = await checkChange({ ...this.change(values, ""), name: "new" });
    this.models = found.models || [];
    const text = found.problems.map((one) => one.text).join(" ");
    if (found.ok) return { ok: true, text: t("models.found", { count: this.models.length }) };
    const refused = found.problems.some((one) => one.key === "api_key");
    if (!refused || key === "api_key") return { ok: refused || found.ok === null ? false : null, text };
    if (values.api_key) this.form.checks = { ...this.form.checks, api_key: { state: "bad", text } };
    return null;
  }

  fields(values) {
    const known = this.provider(values);
    const chosen = values.provider ?? this.providers[0]?.name ?? OTHER;
    const providers = [...this.providers.map(({ name, label }) => [name, /\(([^)]+)\)$/.exec(label)?.[1] || label]), ...(isOwner ? [[OTHER, t("models.compatible")]] : [])];
    const needsKey = Boolean(known?.variable && !known.available);
    const keyHint = known?.available && known.variable ? t("models.keyFrom", { variable: known.variable }) : needsKey ? "" : t("models.keyHint");
    const list = (key) => (_, now) => this.list(now, key);
    return [
      { key: "provider", label: t("models.provider"), type: "choice", choices: providers, value: chosen, required: true },
      !known && { key: "base_url", label: t("models.address"), type: "url", required: true, placeholder: "https://example.com/v1", pattern: "https?://.+",
        wrong: t("models.wrongAddress"), hint: t("models.addressHint"), check: list("base_url") },
      (!known || known.variable) && { key: "api_key", label: t("models.key"), type: "secret", required: needsKey, hint: keyHint, check: list("api_key") },
      { key: "model", label: t("models.model"), required: true, offers: this.models, hint: this.models.length ? t("models.modelHint") : t("models.modelType"),
        value: known?.model, extra: html`<button class="button tiny" type="button" @click=${this.showList}>${icon("refresh-cw")}${t("models.list")}</button>` },
      { key: "name", label: t("models.name"), hint: t("models.nameHint"), pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", wrong: t("models.wrongName") },
      { key: "default", label: t("models.useAsDefault"), type: "check", value: !this.settings?.models.length },
    ].filter(Boolean);
  }

  get form() {
    return /** @type {import("../ui/form.js").Form} */ (this.querySelector("roe-form"));
  }

  showList = async () => {
    const form = this.form;
    const { provider } = form.values;
    const needed = form.list.filter(({ key }) => ["base_url", "api_key"].includes(key));
    form.errors = Object.fromEntries(needed.map((field) => [field.key, form.wrong(field)]));
    if (Object.values(form.errors).some(Boolean)) return form.focusProblem();
    form.checks = { ...form.checks, model: { state: "busy" } };
    const found = await this.list(form.values).catch((error) => ({ ok: false, text: explain(error) }));
    if (form.values.provider !== provider) return;
    form.checks = { ...form.checks, model: { state: found.ok ? "good" : "bad", text: found.text } };
    this.requestUpdate();
  };

  changed(event) {
    const form = this.form;
    if (["base_url", "api_key"].includes(event.detail)) form.checks = { ...form.checks, model: { state: "" } };
    if (event.detail !== "provider") return;
    this.models = [];
    this.failed = form.problem = "";
    form.errors = {};
    form.values = { ...form.values, model: this.provider(form.values)?.model || "", api_key: "" };
    form.checks = {};
  }

  async save(values) {
    this.failed = "";
    const change = this.change(values);
    const found = await checkChange(change, true);
    if (!found.ok) {
      this.failed = found.problems.map(({ text }) => text).join(" ");
      throw new FieldProblems(found.problems.map((one) => ({ ...one, key: one.key === "models" ? "" : one.key })));
    }
    await this.store(change);
  }

  async store(change) {
    if (await reviewChanges([change], this.settings.version, { title: t("models.review", { name: change.name }) })) this.done();
  }

  anyway = async () => {
    try {
      await this.store(this.change(this.form.values));
    } catch (error) {
      this.form.fail(error);
    }
  };

  render() {
    if (!this.providers) return html`<p class="empty ${this.failed ? "problem" : ""}" role="status">${this.failed || t("models.looking")}</p>`;
    const more = html`<a class="button" data-go href="#/models">${t("app.cancel")}</a>
      ${this.failed ? html`<button class="button" type="button" @click=${this.anyway}>${t("models.saveAnyway")}</button>` : nothing}`;
    return html`${intro(t("models.connectIntro"), "howto/choose-a-model")}
      <section class="card padded narrow"><roe-form .fields=${(values) => this.fields(values)} .more=${more} .yes=${t("models.testAndSave")}
        .send=${(values) => this.save(values)} @changed=${this.changed}></roe-form></section>`;
  }
}

/** The name of a model in the file, from the provider's name for it. */
const slug = (model) => model.split("/").at(-1).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");

customElements.define("roe-connect-model", ConnectModel);
