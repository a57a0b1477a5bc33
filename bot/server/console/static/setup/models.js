// Models: list with state, default, source, price and context; test, replace the key, remove; connect another one.

import { html, nothing } from "../vendor/lit.js";
import { post } from "../api/client.js";
import { t } from "../texts/texts.js";
import { duration, number, short } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { loadModels } from "../ui/names.js";
import { explain, Page } from "../ui/page.js";
import { isAdmin } from "../app/session.js";
import { attempt } from "../ui/dialog.js";
import { go } from "../app/router.js";
import { badge, entries, entry, intro, replaceSecrets } from "./parts.js";
import { configures, fileProblems, getSettings, reviewChanges } from "./settings.js";
import { connectModel } from "./connect-model.js";

const ABLE = [
  ["supports_tools", "models.tools"],
  ["supports_vision", "models.images"],
  ["supports_thinking", "models.thinking"],
  ["supports_reasoning_effort", "models.effort"],
];

class Models extends Page {
  constructor() {
    super();
    this.interval = 30_000;
    /** @type {Record<string, {busy?: boolean, ok?: boolean, text?: string}>} */
    this.tests = {};
  }

  get heading() {
    return this.rest === "connect" ? t("models.connect") : "";
  }

  actions() {
    if (this.rest === "connect" || !configures || this.data?.settings?.models_here === false) return nothing;
    return html`<a class="button primary" id="connect" data-go href="#/models/connect">${icon("plus")}<span>${t("models.connect")}</span></a>`;
  }

  async load() {
    const [found, settings] = await Promise.all([loadModels(), getSettings()]);
    return { ...found, settings };
  }

  /** Open the dialog for a key that the address names: of a model, or of the default one. */
  updated() {
    super.updated();
    if (!this.rest.startsWith("key/") || !this.data) return;
    const { models, settings } = this.data;
    const stored = settings?.writable && settings.models.find((one) => (this.rest === "key/" ? one.default : this.rest === `key/${one.name}`));
    const model = stored && models.find(({ name }) => name === stored.name);
    const from = this.query.get("from") || "";
    go("#/models", { replace: true });
    if (model) this.replaceKey(model, /^(#\/|\?c=\d)/.test(from) ? { text: t("models.back"), run: () => go(from) } : null);
  }

  async test(model) {
    this.tests[model.name] = { busy: true };
    this.requestUpdate();
    try {
      const found = await post(`/api/models/${encodeURIComponent(model.name)}/probe`);
      this.tests[model.name] = { ok: found.ok, text: found.ok ? t("models.answered", { time: duration(found.seconds) }) : found.detail };
    } catch (error) {
      this.tests[model.name] = { ok: false, text: explain(error) };
    }
    this.requestUpdate();
  }

  async change(changes, options) {
    const done = await attempt(() => reviewChanges(changes, this.data.settings.version, options));
    if (done) await this.refresh();
  }

  /** Replace a key; `action` is offered once it is saved. */
  async replaceKey(model, action = null) {
    const fields = [{ key: "api_key", label: t("models.key"), required: true }];
    const changeOf = ({ api_key }) => ({ kind: "credentials", model: model.name, values: { api_key } });
    const { version } = this.data.settings;
    // Some providers list their models for any key, so only an answer tells.
    if (await replaceSecrets(t("models.replaceKeyOf", { name: model.display_name }), { fields, changeOf, version, probe: true, notice: { action } })) await this.refresh();
  }

  menu(model, stored) {
    return menuButton(t("setup.actionsOf", { name: model.display_name }), "ellipsis", [
      !stored.default && { text: t("models.makeDefault"), icon: "star", run: () => this.change([{ kind: "default_model", name: model.name }]) },
      { text: t("remedy.key"), icon: "key-round", run: () => this.replaceKey(model) },
      "-",
      {
        text: t("setup.remove"),
        icon: "trash-2",
        danger: true,
        run: () => this.change([{ kind: "remove", what: "model", name: model.name }], { title: t("setup.removeOf", { name: model.display_name }), danger: true }),
      },
    ].filter(Boolean));
  }

  facts(model, stored) {
    const { price, context_window } = stored?.values || {};
    return [
      context_window && t("models.context", { tokens: short(context_window) }),
      price && t("models.price", { input: number(price.input), output: number(price.output) }),
      ...ABLE.filter(([key]) => model[key]).map(([, text]) => t(text)),
    ].filter(Boolean).join(" · ");
  }

  row(model, settings) {
    const stored = settings?.models.find((one) => one.name === model.name);
    const test = this.tests[model.name];
    const toy = model.source === "local";
    return entry({
      glyph: toy ? "puzzle" : model.source === "guide" ? "book-open" : "sparkles",
      name: model.display_name,
      badges: html`${model.default ? badge(t("models.default"), "good") : nothing}${toy ? badge(t("models.toy"), "warn") : nothing}`,
      lines: [
        html`<span class="mono">${model.model || model.name}</span>${model.source === "config" ? nothing : html` · ${source(model.source)}`}`,
        this.facts(model, stored),
        model.note?.replaceAll("`", ""),
        test && html`<span role="status" class=${test.busy ? "" : test.ok ? "accepted" : "problem"}>
          ${test.busy ? t("form.checking") : test.text}</span>`,
      ],
      actions: html`${isAdmin
        ? html`<button class="button" aria-label=${t("models.testOf", { name: model.display_name })} ?disabled=${test?.busy} @click=${() => this.test(model)}>
            ${icon("play")}${t("setup.test")}</button>`
        : nothing}
      ${stored && settings.writable ? this.menu(model, stored) : nothing}`,
    });
  }

  view({ models, reason, settings }) {
    // A configured model is the default by its place; that of a found one needs a reason.
    const isFound = models.some((one) => one.default && one.source !== "config");
    if (this.rest === "connect" && settings) {
      return connectModel(settings, async () => {
        go("#/models");
        await this.refresh();
      });
    }
    return html`${intro(isAdmin ? t("models.introAdmin") : t("models.intro"), "howto/choose-a-model")}
      ${fileProblems(settings)}
      ${entries(t("page.models"), models.map((model) => this.row(model, settings)), t("models.none"))}
      ${isFound && reason ? html`<p class="quiet small">${why(models.find((one) => one.default).source, reason)}</p>` : nothing}`;
  }
}

/** Why a found model is the default: the service's words only where they name what a choice lacks. */
function why(source, reason) {
  if (/, but .+, so /.test(reason)) return t("models.why", { reason });
  const [kind, variable] = source.split(":");
  return t(`models.why.${reason.startsWith("ROEBOT_MODEL") ? "chosen" : kind}`, { variable });
}

/** Where a model comes from, in words. */
function source(name) {
  if (name.startsWith("env:")) return t("models.fromVariable", { variable: name.slice(4) });
  return { ollama: "Ollama", local: t("models.fromLocal"), guide: t("models.fromGuide") }[name] || name;
}

customElements.define("roe-models", Models);
