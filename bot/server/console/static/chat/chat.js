// The chat: header, messages, and the message field.

import { html, nothing } from "../vendor/lit.js";
import { chatAddress, go } from "../app/router.js";
import { isAdmin } from "../app/session.js";
import { t } from "../texts/texts.js";
import { attempt } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { marked } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import { menuButton } from "../ui/menu.js";
import { chatActions } from "./chat-actions.js";
import { Conversation } from "./conversation.js";
import { loadChoices, noteOf, pickerView } from "./models.js";
import { followUpsView, loadFollowUps } from "./follow-ups.js";
import { welcomeView } from "./welcome.js";
import "./texts.js";
import "./composer.js";
import "./transcript.js";

const HIDDEN = "roebot.note";

class Chat extends Element {
  static properties = {
    conversation: { attribute: false },
    talk: { state: true },
    choices: { state: true },
    over: { state: true },
    followUps: { state: true },
  };

  constructor() {
    super();
    /** The conversation of the address, null for a new one. @type {number | null} */
    this.conversation = null;
    /** @type {Conversation | null} */
    this.talk = null;
    /** @type {import("./models.js").Choices | null} */
    this.choices = null;
    /** True while files are dragged over the chat. */
    this.over = false;
    /** @type {{turn: number, texts: string[] | null} | null} */
    this.followUps = null;
    this.onKey = (event) => this.key(event);
    this.onFocus = () => this.loadModels();
    this.onRoute = () => this.reveal();
    /** The turn of the address that is not shown yet. */
    this.target = 0;
    this.onRenamed = (event) => event.detail.id === this.talk?.id && this.talk.reload();
  }

  connectedCallback() {
    super.connectedCallback();
    this.loadModels();
    addEventListener("keydown", this.onKey);
    addEventListener("focus", this.onFocus);
    addEventListener("route", this.onRoute);
    addEventListener("chat-renamed", this.onRenamed);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
    removeEventListener("focus", this.onFocus);
    removeEventListener("route", this.onRoute);
    removeEventListener("chat-renamed", this.onRenamed);
    this.talk?.close();
  }

  willUpdate(changed) {
    if (changed.has("conversation") && (!this.talk || this.talk.id !== this.conversation)) this.open(this.conversation);
  }

  updated() {
    this.dispatchEvent(new CustomEvent("page-title", { bubbles: true }));
  }

  /** Show a conversation, or with null a new one. */
  open(id) {
    this.talk?.close();
    const talk = new Conversation(id);
    this.talk = talk;
    this.followUps = null;
    this.reveal();
    talk.addEventListener("change", () => talk === this.talk && this.changed());
    talk.addEventListener("turn", () => talk === this.talk && this.talk.busy !== this.shownBusy && this.requestUpdate());
    talk.addEventListener("created", () => talk === this.talk && this.isConnected && go(chatAddress(talk.id)));
    talk.addEventListener("gone", () => talk === this.talk && go(chatAddress(null), { replace: true }));
    talk.addEventListener("closed", () => !this.choices?.models.length && this.loadModels());
    this.updateComplete.then(() => this.composer?.focus());
  }

  /** Show the turn that the address names, such as one that was searched. */
  reveal() {
    this.target = Number(/^#turn-(\d+)$/.exec(location.hash)?.[1]) || 0;
    this.updateComplete.then(() => this.talk?.loaded && this.changed());
  }

  changed() {
    const { target } = this;
    if (target && this.talk.loaded && this.talk.id === this.conversation) {
      this.target = 0;
      this.updateComplete.then(() => attempt(() => this.transcript.reveal(target)));
    }
    if (this.followUps && this.followUps.turn !== this.talk.last?.id) this.followUps = null;
    this.requestUpdate();
  }

  async loadModels() {
    this.choices = await loadChoices();
  }

  get composer() {
    return /** @type {any} */ (this.querySelector("roe-composer"));
  }

  get transcript() {
    return /** @type {any} */ (this.querySelector("roe-transcript"));
  }

  get heading() {
    return this.talk?.info?.title || (this.talk?.id ? "…" : "");
  }

  /** Model, agent and the actions of the chat, in the header. */
  actions() {
    const { talk, choices } = this;
    if (!talk || !choices) return nothing;
    const used = talk.info || talk.wanted;
    const choose = talk.writable ? (kind, name) => attempt(() => talk.choose(kind, name)) : null;
    return html`${pickerView(choices, used, choose)}
      ${talk.info ? menuButton(t("chat.actions"), "ellipsis", () => chatActions(talk.info)) : nothing}`;
  }

  key(event) {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || !this.talk?.busy) return;
    if (document.querySelector("dialog[open], .menu, .app.side-open")) return;
    event.preventDefault();
    this.stop();
  }

  stop() {
    attempt(() => this.talk.stop());
  }

  editLast() {
    const turns = /** @type {any[]} */ ([...this.querySelectorAll("roe-turn")]);
    turns.find((shown) => shown.editable)?.edit();
  }

  drag(event) {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    this.over = true;
  }

  drop(event) {
    this.over = false;
    if (!event.dataTransfer.files.length || !this.composer) return;
    event.preventDefault();
    this.composer.add(event.dataTransfer.files);
  }

  leave(event) {
    if (!this.contains(event.relatedTarget)) this.over = false;
  }

  async suggest(turn) {
    this.followUps = { turn: turn.id, texts: null };
    const texts = await attempt(() => loadFollowUps(turn, this.talk.info.model));
    if (this.followUps?.turn === turn.id) this.followUps = texts ? { turn: turn.id, texts } : null;
  }

  note() {
    const text = this.choices ? noteOf(this.choices, this.talk.info?.model || this.talk.wanted.model) : "";
    if (!text || sessionStorage.getItem(HIDDEN) === text) return nothing;
    const hide = () => {
      sessionStorage.setItem(HIDDEN, text);
      this.requestUpdate();
      this.composer?.focus();
    };
    return html`<div class="note banner" id="model-note" role="note">
      ${icon("info")}<p class="grow">${marked(text)} ${isAdmin ? html`<a href="#/models">${t("remedy.model")}</a>` : nothing}</p>
      <button class="button ghost icon tiny" type="button" aria-label=${t("chat.hideNote")} title=${t("chat.hideNote")} @click=${hide}>${icon("x")}</button>
    </div>`;
  }

  render() {
    const { talk } = this;
    if (!talk) return nothing;
    this.shownBusy = talk.busy;
    const isEmpty = talk.loaded && !talk.turns.size && !talk.pending.length;
    const take = (text) => this.composer?.put(text);
    return html`<div class="chat ${isEmpty ? "is-empty" : ""} ${this.over ? "over" : ""}" id="chat"
      @dragover=${this.drag} @dragleave=${this.leave} @drop=${this.drop}>
      ${this.note()}
      ${isEmpty ? html`<div class="welcome-scroll">${welcomeView(take)}</div>` : nothing}
      <roe-transcript .talk=${talk} ?hidden=${isEmpty}
        .ending=${followUpsView(talk, this.followUps, { load: (turn) => this.suggest(turn), take })}></roe-transcript>
      ${talk.writable
        ? html`<roe-composer .talk=${talk} .busy=${talk.busy} @sent=${() => this.transcript.follow(true)} @stop=${this.stop} @edit-last=${this.editLast}></roe-composer>`
        : html`<p class="read-only quiet">${t("chat.readOnly")}</p>`}
      ${this.over ? html`<div class="drop-here" aria-hidden="true">${icon("upload")}<span>${t("chat.dropHere")}</span></div>` : nothing}
    </div>`;
  }
}

customElements.define("roe-chat", Chat);
