// Combobox for people, chats, tools, skills, models, zones: type to search, arrow keys to choose.

import { html, nothing } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import "./texts.js";
import { Element } from "./element.js";
import { icon } from "./icon.js";

const PAUSE = 120;
let pickers = 0;

/** @typedef {{value: string, text: string, hint?: string, mark?: string}} Option `mark` is a short text in a circle, such as initials. */

/**
 * `<roe-picker>`: `source(typed)` returns the options. The chosen one is in `chosen` (null for none), and `change` is sent when it changes.
 * `name` gives a form the value. With `free`, what was typed can be chosen by itself.
 */
class Picker extends Element {
  static properties = {
    label: {}, name: {}, placeholder: {}, required: { type: Boolean }, bare: { type: Boolean }, hint: {},
    source: { attribute: false }, chosen: { attribute: false }, free: { attribute: false }, options: { state: true }, at: { state: true }, problem: { state: true },
  };

  constructor() {
    super();
    this.label = "";
    this.name = "";
    this.placeholder = "";
    this.required = false;
    /** Whether the label is for screen readers only. */
    this.bare = false;
    this.hint = "";
    /** @type {(typed: string) => Promise<Option[]> | Option[]} */
    this.source = () => [];
    /** @type {Option | null} */
    this.chosen = null;
    /** @type {((typed: string) => Option | null) | null} */
    this.free = null;
    /** @type {Option[] | null} */
    this.options = null;
    this.at = -1;
    this.problem = false;
    this.searches = 0;
    this.key = `picker-${(pickers += 1)}`;
  }

  get input() {
    return /** @type {HTMLInputElement} */ (this.querySelector("input"));
  }

  get value() {
    return this.chosen?.value ?? "";
  }

  async open(typed = "") {
    const search = (this.searches += 1);
    let found = [];
    try {
      found = await this.source(typed.trim());
    } catch {
      this.problem = true;
    }
    if (search !== this.searches || !this.contains(document.activeElement)) return;
    const own = typed.trim() && this.free?.(typed.trim());
    this.options = own && !found.some(({ value }) => value === own.value) ? [...found, own] : found;
    this.at = typed && this.options.length ? 0 : this.options.findIndex(({ value }) => value === this.value);
    await this.updateComplete;
    this.place();
  }

  /** Show the list in the top layer, so that nothing around it cuts it off. */
  place() {
    const list = /** @type {HTMLElement | null} */ (this.querySelector(".options"));
    if (!list) return;
    if (!list.matches(":popover-open")) list.showPopover();
    const box = this.input.getBoundingClientRect();
    const below = innerHeight - box.bottom > 220 || box.top < 220;
    Object.assign(list.style, { left: `${box.left}px`, width: `${Math.max(box.width, Math.min(260, innerWidth - box.left - 8))}px`,
      top: below ? `${box.bottom + 4}px` : "auto", bottom: below ? "auto" : `${innerHeight - box.top + 4}px` });
    list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.searches += 1;
    clearTimeout(this.timer);
    this.options = null;
    this.at = -1;
  }

  typed(event) {
    this.problem = false;
    clearTimeout(this.timer);
    const { value } = event.target;
    if (!value) this.choose(null, true);
    this.timer = setTimeout(() => this.open(value), PAUSE);
  }

  choose(option, stay = false) {
    const changed = option?.value !== this.chosen?.value;
    this.chosen = option;
    if (!stay) {
      this.input.value = option?.text ?? "";
      this.close();
    }
    if (changed) this.dispatchEvent(new CustomEvent("change", { detail: option, bubbles: true }));
  }

  keydown(event) {
    const { key } = event;
    if ((key === "ArrowDown" || key === "ArrowUp") && !this.options) this.open();
    else if (key === "ArrowDown" || key === "ArrowUp") {
      const count = this.options.length;
      this.at = count ? (this.at + (key === "ArrowDown" ? 1 : -1) + count) % count : -1;
      this.updateComplete.then(() => this.place());
    } else if (key === "Enter" && this.options) {
      if (this.options[this.at]) this.choose(this.options[this.at]);
    } else if (key === "Escape" && this.options) {
      this.input.value = this.chosen?.text ?? "";
      this.close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  left() {
    // What was typed but not chosen does not stay.
    const exact = this.options?.find(({ text, value }) => [text, value].includes(this.input.value.trim()));
    if (exact) this.choose(exact);
    else if (this.input.value !== (this.chosen?.text ?? "")) this.input.value = this.chosen?.text ?? "";
    this.close();
  }

  updated(changed) {
    if (changed.has("chosen") && document.activeElement !== this.input) this.input.value = this.chosen?.text ?? "";
    this.input.setCustomValidity(this.required && !this.chosen ? t("picker.required") : "");
  }

  option(option, index) {
    return html`<li role="option" id="${this.key}-${index}" class="item" aria-selected=${index === this.at}
      @mousedown=${(event) => event.preventDefault()} @click=${() => this.choose(option)}>
      ${option.mark ? html`<span class="avatar" aria-hidden="true">${option.mark}</span>` : nothing}
      <span class="grow cut" title=${option.text}>${option.text}</span>${option.hint ? html`<span class="quiet small cut">${option.hint}</span>` : nothing}
      ${option.value === this.value ? icon("check") : nothing}
    </li>`;
  }

  render() {
    const open = this.options !== null;
    const { key } = this;
    return html`<div class="field">
      <label for=${key} class=${this.bare ? "sr" : ""}>${this.label}</label>
      <div class="picker">
        <input class="input" id=${key} role="combobox" autocomplete="off" spellcheck="false" aria-autocomplete="list" aria-expanded=${open}
          aria-controls="${key}-list" aria-activedescendant=${this.at >= 0 ? `${key}-${this.at}` : nothing} placeholder=${this.placeholder}
          aria-describedby=${this.hint ? `${key}-hint` : nothing} ?required=${this.required} @input=${this.typed} @keydown=${this.keydown}
          @click=${() => open || this.open()} @blur=${this.left} @change=${(event) => event.stopPropagation()} />
        ${icon("chevron-down")}
      </div>
      ${this.name ? html`<input type="hidden" name=${this.name} .value=${this.value} />` : nothing}
      <ul class="menu options" id="${key}-list" role="listbox" aria-label=${this.label} popover="manual" ?hidden=${!open}>
        ${open ? this.options.map((option, index) => this.option(option, index)) : nothing}
        ${open && !this.options.length ? html`<li class="title" role="option" aria-disabled="true" aria-selected="false">${this.problem ? t("app.unreachable") : t("app.noMatches")}</li>` : nothing}
      </ul>
      ${this.hint ? html`<small id="${key}-hint">${this.hint}</small>` : nothing}
    </div>`;
  }
}

customElements.define("roe-picker", Picker);
