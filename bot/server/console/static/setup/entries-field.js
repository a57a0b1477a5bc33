// People and groups of an access rule: by name, each with a button to remove it, and a field to add one.

import { html, nothing } from "../vendor/lit.js";
import { get } from "../api/client.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";
import { icon } from "../ui/icon.js";
import "./texts.js";

const ENTRY = /^[a-z][a-z0-9_-]{0,31}:\S+$/;
const GROUPS = ["team", "role", "usergroup", "department"];
const title = (name) => name[0].toUpperCase() + name.slice(1);
let fields = 0;

/** @type {Promise<{people: Map<string, string>, groups: Map<string, string>}> | null} */
let known = null;

/** Names of people and chats by their entry, loaded once. */
function names() {
  known ??= Promise.all([get("/api/names?kind=person&limit=200"), get("/api/names?kind=chat&limit=200")]).then(([{ people }, { chats }]) => ({
    people: new Map(people.map((one) => [one.person, one.name])),
    groups: new Map(chats.filter((one) => one.chat && !one.topic).map((one) => [`${one.account}:${one.chat}`, one.name])),
  }));
  known.catch(() => (known = null));
  return known;
}

class EntriesField extends Element {
  static properties = { label: {}, kind: {}, value: { attribute: false }, names: { state: true }, problem: { state: true } };

  constructor() {
    super();
    this.uid = `entries${(fields += 1)}`;
    this.label = "";
    /** "groups" offers chats, anything else people. */
    this.kind = "";
    /** @type {string[]} */
    this.value = [];
    /** @type {Map<string, string>} */
    this.names = new Map();
    this.problem = "";
  }

  connectedCallback() {
    super.connectedCallback();
    // Without names, entries can still be added by id.
    names().then((found) => (this.names = this.kind === "groups" ? found.groups : found.people), () => null);
  }

  put(value) {
    this.value = value;
    this.dispatchEvent(new CustomEvent("entries", { detail: value }));
  }

  /** How an entry is offered: two people may have the same name. */
  offer([entry, name]) {
    return `${name} (${title(entry.split(":")[0])})`;
  }

  add() {
    const input = /** @type {HTMLInputElement} */ (this.querySelector("input"));
    const typed = input.value.trim();
    const [entry = ENTRY.test(typed) ? typed : ""] = [...this.names].find((one) => this.offer(one) === typed || one[1] === typed) || [];
    this.problem = typed && !entry ? t("settings.notFound") : "";
    if (!entry) return;
    if (!this.value.includes(entry)) this.put([...this.value, entry]);
    input.value = "";
    input.focus();
  }

  keydown(event) {
    if (event.key !== "Enter" || !event.target.value.trim()) return;
    event.preventDefault();
    this.add();
  }

  /** What an entry is called: a person's name, or the kind of group it stands for. */
  text(entry) {
    const [scope, kind] = entry.split(":");
    if (this.names.has(entry)) return this.names.get(entry);
    return t(GROUPS.includes(kind) || this.kind === "groups" ? "settings.groupOf" : "settings.personOf", { platform: title(scope) });
  }

  render() {
    const { uid } = this;
    return html`${this.value.length
        ? html`<ul class="chips">${this.value.map((entry) => html`<li class="chip" title=${entry}><span class="cut">${this.text(entry)}</span>
            <button class="button ghost icon tiny" type="button" aria-label=${t("settings.removeEntry", { name: this.text(entry) })}
              @click=${() => this.put(this.value.filter((one) => one !== entry))}>${icon("x")}</button></li>`)}</ul>`
        : nothing}
      <span class="input-row"><input class="input" list="${uid}-offers" autocomplete="off" aria-label=${t("settings.addTo", { list: this.label })}
        placeholder=${t("settings.addPlaceholder")} aria-invalid=${this.problem ? "true" : nothing} aria-describedby="${uid}-about" @keydown=${this.keydown} @change=${this.add} />
        <button class="button" type="button" aria-label=${t("settings.addTo", { list: this.label })} @click=${this.add}>${t("settings.add")}</button></span>
      <datalist id="${uid}-offers">${[...this.names].map((one) => html`<option value=${this.offer(one)}></option>`)}</datalist>
      <small id="${uid}-about" class="problem" role="alert">${this.problem}</small>`;
  }
}

customElements.define("roe-entries", EntriesField);
