// The shipped documentation: search and list of pages, and each page rendered from its Markdown.

import { html, nothing, ref } from "../vendor/lit.js";
import { get, withQuery } from "../api/client.js";
import { addTexts, language, t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";
import { Page } from "../ui/page.js";
import { MarkdownView } from "../markdown/view.js";
import { en, zh } from "../markdown/texts.js";
import "./texts.js";

addTexts({ en, zh });

const PAUSE = 200;
const GROUPS = ["tutorial", "howto", "reference", ""];

class Docs extends Page {
  get heading() {
    return this.rest ? this.data?.page?.title || "" : "";
  }

  actions() {
    return this.rest ? html`<a class="button" data-go href="#/docs">${icon("search")}<span>${t("docs.all")}</span></a>` : nothing;
  }

  async load() {
    if (this.rest) return { page: await get(withQuery(`/api/docs/${this.rest}`, { language })) };
    return get(withQuery("/api/docs", { q: this.query.get("q"), limit: 100, language }));
  }

  typed(event) {
    clearTimeout(this.timer);
    const { value } = event.target;
    this.timer = setTimeout(() => this.setQuery({ q: value.trim() }), PAUSE);
  }

  /** Render the page's text, once for each text. */
  show(element, text) {
    if (!element || element.shown === text) return;
    element.shown = text;
    element.view ??= new MarkdownView(element, { t, id: "docs" });
    element.view.update(text);
  }

  hit(one) {
    const excerpt = one.excerpt.replace(/\*\*|`|\|[\s|:-]*|\[([^\]]*)\](?:\([^)]*\)?)?/g, "$1");
    const about = one.heading && one.heading !== one.title ? `${one.heading} · ${excerpt}` : excerpt;
    return html`<li class="entry"><span class="entry-icon">${icon("file-text")}</span><div class="entry-text">
      <strong class="words"><a data-go href="#/docs/${one.page}">${one.title}</a></strong><p class="small quiet words">${about}</p></div></li>`;
  }

  view({ page, hits }) {
    if (page) return html`<article class="docs-page card padded" ${ref((element) => this.show(element, page.text.replace(/^# .*\n+/, "")))}></article>`;
    if (!hits) return nothing;
    const query = this.query.get("q") || "";
    const group = (one) => (one.page.includes("/") ? one.page.split("/")[0] : "");
    const sections = query ? [["", hits]] : GROUPS.map((name) => [name, hits.filter((one) => group(one) === name)]);
    return html`<input class="input" type="search" aria-label=${t("docs.search")} placeholder=${t("docs.search")} value=${query} @input=${this.typed} />
      ${language === "zh" ? html`<p class="quiet small">${t("docs.inEnglish")}</p>` : nothing}
      ${hits.length ? nothing : html`<p class="card empty">${t("app.noMatches")}</p>`}
      ${sections.filter(([, found]) => found.length).map(([name, found]) => html`<section class="stack">
        ${query ? nothing : html`<h2>${t(`docs.${name || "about"}`)}</h2>`}<ul class="card entries">${found.map((one) => this.hit(one))}</ul></section>`)}`;
  }
}

customElements.define("roe-docs", Docs);
