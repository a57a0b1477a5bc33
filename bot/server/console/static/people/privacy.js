// A person's data: export and erase it, and the last erasure.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { current, isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { time } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { knownPeople, nameOf } from "../ui/names.js";
import { Page } from "../ui/page.js";
import { findPeople } from "../ui/sources.js";
import "../ui/picker.js";
import { dataPath, eraseData, exportLink, refusal, report } from "./erasure.js";
import "./texts.js";

class Privacy extends Page {
  constructor() {
    super();
    // An erasure that is not finished continues in the background.
    this.interval = 5000;
  }

  async load() {
    const person = this.query.get("person") || current.person;
    const names = person === current.person ? new Map() : await knownPeople();
    const state = await get(dataPath(person, "erasure")).catch((failure) => {
      if (!failure.status) throw failure;
      return { failure };
    });
    return { person, name: nameOf(names.get(person), person), state };
  }

  view({ person, name, state }) {
    const own = person === current.person;
    return html`
      ${isAdmin ? html`<div class="filters"><roe-picker label=${t("people.person")} .source=${findPeople} .chosen=${own ? null : { value: person, text: name }}
        placeholder=${t("privacy.you")} @change=${(event) => this.setQuery({ person: event.detail?.value }, { push: true })}></roe-picker></div>` : nothing}
      ${state.failure ? html`<p class="problem" role="alert">${refusal(state.failure)}</p>` : html`
        <section class="card padded stack"><h2>${own ? t("privacy.own") : t("privacy.of", { name })}</h2>
          <p>${t("privacy.about")}</p>
          <div class="row">${exportLink(person)}<button class="button danger" @click=${() => eraseData(person, own ? current.name || t("role.owner") : name, () => this.refresh())}>${icon("trash-2")}${t("erase.button")}</button></div></section>
        <section class="card padded stack"><h2>${t("privacy.last")}</h2>${this.last(state)}</section>`}`;
  }

  last(state) {
    if (!state.requested_at) return html`<p class="quiet">${t("privacy.none")}</p>`;
    return html`<dl class="facts"><div><dt>${t("privacy.requested")}</dt><dd>${time(state.requested_at)}</dd></div>
        <div><dt>${t("privacy.finished")}</dt><dd>${state.finished_at ? time(state.finished_at) : html`<span class="badge warn">${t("privacy.running")}</span>`}</dd></div></dl>
      ${state.finished_at ? nothing : html`<p>${t("privacy.waits")}</p>`}${report(state)}`;
  }
}

customElements.define("roe-privacy", Privacy);
