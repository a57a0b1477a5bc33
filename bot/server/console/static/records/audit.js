// The audit log: who did what, in sentences.

import { html, nothing } from "../vendor/lit.js";
import { withQuery } from "../api/client.js";
import { t } from "../texts/texts.js";
import { dateTime, initials, time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { ListPage } from "../ui/list.js";
import { menuButton } from "../ui/menu.js";
import { copyId, knownPeople, nameOf } from "../ui/names.js";
import { findPeople } from "../ui/sources.js";
import "../ui/picker.js";
import "./texts.js";

class Audit extends ListPage {
  constructor() {
    super();
    this.items = "entries";
    this.interval = 15_000;
  }

  path() {
    return withQuery("/api/audit", { person: this.query.get("person"), q: this.query.get("q") });
  }

  async loadRows() {
    const [found, names] = await Promise.all([super.loadRows(), knownPeople()]);
    return { rows: found.rows, answer: { ...found.answer, names } };
  }

  listView(entries, { names }) {
    const person = this.query.get("person") || "";
    const q = this.query.get("q");
    return html`<div class="filters" role="search">${this.search(t("audit.search"))}
        <roe-picker label=${t("audit.person")} bare placeholder=${t("audit.anyone")} .source=${findPeople} .chosen=${person ? { value: person, text: nameOf(names.get(person), person) } : null}
          @change=${(event) => this.setQuery({ person: event.detail?.value }, { push: true })}></roe-picker>
        ${q || person ? html`<a class="button ghost" data-go href="#/audit">${icon("x")}${t("list.clear")}</a>` : nothing}</div>
      ${entries.length ? html`<ol class="things" aria-label=${t("page.audit")}>${entries.map((one) => this.entry(one, names))}</ol>` : html`<p class="empty">${q || person ? t("app.noMatches") : t("audit.none")}</p>`}`;
  }

  entry(one, names) {
    const name = nameOf(one.name || names.get(one.person), one.person);
    // The subject may be an id, which has a name or is left out.
    const subject = names.get(one.subject) || (/:/.test(one.subject) ? "" : one.subject);
    return html`<li class="thing event"><span class="avatar" aria-hidden="true">${initials(name)}</span>
      <div class="grow"><p class="words">${one.text || html`<strong>${name}</strong> ${[one.action, subject, one.detail].filter(Boolean).join(" · ")}`}</p>
        <p class="quiet small">${time(one.at)} · ${dateTime(one.at)}${one.account ? ` · ${one.account}` : ""}</p></div>
      ${menuButton(t("app.more"), "ellipsis", [copyId(one.person), ...(one.chat ? [{ ...copyId(one.chat), text: t("audit.copyChat") }] : [])], "ghost icon tiny")}</li>`;
  }
}

customElements.define("roe-audit", Audit);
