// The message field: text, files, commands; Enter sends, Escape stops, ArrowUp edits the last message.

import { html, nothing, live } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { Element } from "../ui/element.js";
import { icon } from "../ui/icon.js";
import { explain } from "../ui/page.js";
import { addFiles, filesView, release } from "./attachments.js";
import { Commands, suggestionsView } from "./command-menu.js";
import { drafts } from "./drafts.js";

const commands = new Commands();

class Composer extends Element {
  static properties = {
    talk: { attribute: false },
    busy: { type: Boolean },
    text: { state: true },
    files: { state: true },
    found: { state: true },
    selected: { state: true },
    problem: { state: true },
  };

  constructor() {
    super();
    /** @type {import("./conversation.js").Conversation | null} */
    this.talk = null;
    /** True while the agent works. */
    this.busy = false;
    this.text = "";
    /** @type {File[]} */
    this.files = [];
    /** @type {import("./command-menu.js").Suggestion[]} */
    this.found = [];
    this.selected = 0;
    this.problem = "";
    this.asked = 0;
  }

  get field() {
    return /** @type {HTMLTextAreaElement} */ (this.querySelector("#text"));
  }

  willUpdate(changed) {
    if (!changed.has("talk") || !this.talk) return;
    const draft = drafts.get(this.talk.id);
    Object.assign(this, { text: draft.text, files: draft.files, problem: "", found: [] });
  }

  updated(changed) {
    if (changed.has("text")) this.resize();
    this.querySelector("#hints [aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  // A new conversation gets its id with its first message; its draft moves along.
  keep(changes) {
    Object.assign(this, changes);
    drafts.set(this.talk.id, { text: this.text, files: this.files });
  }

  resize() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
  }

  focus() {
    if (matchMedia("(hover: hover)").matches) this.field?.focus();
  }

  /** Put a text into the field, such as a starter prompt. */
  async put(text) {
    this.keep({ text });
    this.suggest();
    await this.updateComplete;
    this.field.focus();
    this.field.setSelectionRange(text.length, text.length);
  }

  typed(event) {
    this.keep({ text: event.target.value });
    this.suggest();
  }

  async suggest() {
    const asked = (this.asked += 1);
    const found = this.text.startsWith("/") ? await commands.suggest(this.text) : [];
    if (asked === this.asked) Object.assign(this, { found, selected: 0 });
  }

  closeHints() {
    this.asked += 1;
    this.found = [];
  }

  take(place) {
    const { text } = this.found[place];
    this.closeHints();
    this.put(text);
  }

  /** Handle a key of the list of suggestions; returns true if it was for the list. */
  hintKey(event) {
    const { found, selected } = this;
    if (!found.length) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isWhole = this.text.trim().toLowerCase() === found[selected].text.trim().toLowerCase();
    if (step) this.selected = (selected + step + found.length) % found.length;
    else if (event.key === "Escape") this.closeHints();
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !isWhole)) this.take(selected);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  key(event) {
    // Safari ends a composition before the key that ended it (229).
    if (event.isComposing || event.keyCode === 229 || this.hintKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "ArrowUp" && !this.text && !event.shiftKey) {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("edit-last"));
    }
  }

  add(more) {
    this.keep(addFiles(this.files, more));
  }

  paste(event) {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    this.add(event.clipboardData.files);
  }

  picked(event) {
    this.add(event.target.files);
    event.target.value = "";
  }

  detach(file) {
    release(file);
    this.keep({ files: this.files.filter((other) => other !== file), problem: "" });
    this.field.focus();
  }

  async submit(event) {
    event?.preventDefault();
    const { talk, files } = this;
    const text = this.text.trim();
    if (!text && !files.length) return;
    this.closeHints();
    this.keep({ text: "", files: [], problem: "" });
    this.dispatchEvent(new CustomEvent("sent"));
    try {
      await talk.send(text, files);
      for (const file of files) release(file);
    } catch (error) {
      drafts.restore(talk.id, { text, files });
      // The reader may have moved on; the message is then in the draft of its conversation.
      if (talk !== this.talk) return;
      Object.assign(this, drafts.get(talk.id), { problem: `${explain(error)} ${t("chat.stillHere")}` });
    }
  }

  render() {
    const { found, selected, files, text } = this;
    return html`<form class="composer" id="composer" aria-label=${t("chat.write")} @submit=${this.submit}>
      ${this.problem ? html`<p class="problem" id="problem" role="alert">${this.problem}</p>` : nothing}
      ${suggestionsView(found, selected, (place) => this.take(place))}
      <div class="box">
        ${filesView(files, (file) => this.detach(file))}
        <label class="sr" for="text">${t("chat.message")}</label>
        <textarea id="text" rows="1" placeholder=${t("chat.placeholder")} autocomplete="off" enterkeyhint="send" dir="auto"
          role="combobox" aria-controls="hints" aria-expanded=${found.length > 0} aria-autocomplete="list"
          aria-activedescendant=${found.length ? `hint-${selected}` : nothing} .value=${live(text)}
          @input=${this.typed} @keydown=${this.key} @blur=${this.closeHints} @paste=${this.paste}></textarea>
        <div class="tools">
          <input id="file" type="file" multiple hidden @change=${this.picked} />
          <button class="button ghost icon" id="attach" type="button" aria-label=${t("chat.attach")} title=${t("chat.attach")}
            @click=${() => /** @type {HTMLElement} */ (this.querySelector("#file")).click()}>${icon("paperclip")}</button>
          <button class="button ghost icon" id="commands" type="button" aria-label=${t("chat.commands")} title=${t("chat.commands")}
            @click=${() => this.put("/")}>${icon("square-terminal")}</button>
          <span class="tip grow cut" aria-hidden="true">${t("chat.tip")}</span>
          ${this.busy ? html`<button class="button stop" id="stop" type="button" title=${t("chat.stop")}
            @click=${() => this.dispatchEvent(new CustomEvent("stop"))}>${icon("square")}<span>${t("chat.stop")}</span></button>` : nothing}
          <button class="button primary icon send" id="send" aria-label=${t("chat.send")} title=${t("chat.send")}
            ?disabled=${!text.trim() && !files.length}>${icon("arrow-up")}</button>
        </div>
      </div>
    </form>`;
  }
}

customElements.define("roe-composer", Composer);
