// The messages of a conversation: scrolling, announcements for screen readers, earlier messages.

import { html, nothing, repeat } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { attempt } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { icon } from "../ui/icon.js";
import { messageView } from "./message.js";
import "./turn.js";

/** How near to the end (px) the reader has to be so that the transcript follows what is written. */
const NEAR_END = 60;
/** How long (ms) after a reader's move the transcript scrolls because of it. */
const READER = 500;
/** How near to the beginning (px) earlier messages are loaded. */
const NEAR_BEGINNING = 400;
const ANNOUNCED = 400;

class Transcript extends Element {
  static properties = { talk: { attribute: false }, ending: { attribute: false }, away: { state: true }, said: { state: true } };

  constructor() {
    super();
    /** @type {import("./conversation.js").Conversation | null} */
    this.talk = null;
    /** What stands below the last turn. @type {unknown} */
    this.ending = nothing;
    /** True while the reader has scrolled up. */
    this.away = false;
    /** What screen readers announce. */
    this.said = "";
    this.pinned = true;
    /** Where the transcript was scrolled to last. */
    this.top = 0;
    this.size = "";
    /** When the reader last moved it (ms). */
    this.moved = 0;
    this.sizes = new ResizeObserver(() => this.follow());
    this.onChange = () => this.requestUpdate();
    this.onTurn = (event) => this.showTurn(event.detail);
    this.onClosed = (event) => this.announce(event.detail);
  }

  get scroller() {
    return /** @type {HTMLElement} */ (this.querySelector("#scroll"));
  }

  willUpdate(changed) {
    if (!changed.has("talk")) return;
    this.forget(changed.get("talk"));
    this.said = "";
    this.away = false;
    this.pinned = true;
    this.talk?.addEventListener("change", this.onChange);
    this.talk?.addEventListener("turn", this.onTurn);
    this.talk?.addEventListener("closed", this.onClosed);
  }

  forget(talk) {
    talk?.removeEventListener("change", this.onChange);
    talk?.removeEventListener("turn", this.onTurn);
    talk?.removeEventListener("closed", this.onClosed);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.forget(this.talk);
    this.sizes.disconnect();
  }

  firstUpdated() {
    this.sizes.observe(this.querySelector(".column"));
    this.sizes.observe(this.scroller);
  }

  updated() {
    this.follow();
  }

  /** Show a change of one turn without drawing the others. */
  showTurn(turn) {
    const shown = /** @type {any} */ (this.querySelector(`roe-turn[data-turn="${turn.id}"]`));
    if (shown) shown.turn = turn;
    else this.requestUpdate();
  }

  async announce(turn) {
    await this.updateComplete;
    const shown = /** @type {any} */ (this.querySelector(`roe-turn[data-turn="${turn.id}"]`));
    await shown?.updateComplete;
    const answer = shown?.querySelector(".answer")?.cloneNode(true);
    if (!answer) return;
    for (const control of answer.querySelectorAll("button")) control.remove();
    const text = answer.textContent.replace(/\s+/g, " ").trim();
    this.said = text.length > ANNOUNCED ? `${text.slice(0, ANNOUNCED)}…` : text;
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const isSame = this.size === `${scrollHeight} ${clientHeight}`;
    if (scrollHeight - scrollTop - clientHeight < NEAR_END) this.pinned = true;
    // The browser also scrolls up where something shrinks; then the transcript goes on to follow.
    else if (scrollTop < this.top && (isSame || performance.now() - this.moved < READER)) this.pinned = false;
    this.remember();
    this.away = !this.pinned;
    if (scrollTop < NEAR_BEGINNING && this.away) this.loadEarlier();
  }

  follow(force = false) {
    if (force) this.pinned = true;
    if (!this.pinned || !this.scroller) return;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.remember();
  }

  remember() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.top = scrollTop;
    this.size = `${scrollHeight} ${clientHeight}`;
  }

  /** The reader uses the wheel, a finger, a key or the scroll bar. */
  move = () => (this.moved = performance.now());

  /** What the reader unfolds stays in view: the transcript follows only if the end still is, too. */
  unfold(event) {
    if (!event.target.closest("summary")) return;
    this.pinned = false;
    requestAnimationFrame(() => this.scrolled());
  }

  async loadEarlier() {
    const { talk, scroller } = this;
    if (!talk?.earlier || talk.loadingEarlier) return;
    this.pinned = false;
    const before = scroller.scrollHeight - scroller.scrollTop;
    await attempt(() => talk.loadEarlier());
    await this.updateComplete;
    // The browser keeps the place only where something stands above it.
    if (scroller.scrollTop < NEAR_BEGINNING) scroller.scrollTop = scroller.scrollHeight - before;
  }

  /** Show a turn, with all that came after it. */
  async reveal(id) {
    const { talk } = this;
    while (talk === this.talk && talk.earlier && !talk.turns.has(id)) await talk.loadEarlier();
    if (talk !== this.talk || !talk.turns.has(id)) return;
    this.pinned = false;
    await this.updateComplete;
    const shown = this.querySelector(`roe-turn[data-turn="${id}"]`);
    shown.classList.add("revealed");
    shown.scrollIntoView({ block: "start" });
    // What stands above gets its real height only now.
    requestAnimationFrame(() => shown.scrollIntoView({ block: "start" }));
  }

  render() {
    const { talk } = this;
    const turns = talk?.list || [];
    const last = talk?.last?.id;
    const [editable, edited] = talk ? [talk.editable, talk.edited] : [0, new Set()];
    return html`
      <div class="scroll" id="scroll" tabindex="0" role="region" aria-label=${t("chat.conversation")} @scroll=${this.scrolled}
        @wheel=${this.move} @touchmove=${this.move} @keydown=${this.move} @pointerdown=${this.move} @click=${this.unfold}>
        <div class="column">
          ${talk?.earlier ? html`<button class="button tiny earlier" id="earlier" type="button" @click=${this.loadEarlier}>${t("chat.earlier")}</button>` : nothing}
          ${talk?.loaded ? nothing : html`<p class="quiet loading" role="status">${t("app.loading")}</p>`}
          <div class="turns" role="list" aria-label=${t("chat.messages")}>
            ${repeat(turns, (turn) => turn.id, (turn) => html`<roe-turn .turn=${turn} .talk=${talk} .last=${turn.id === last}
              .editable=${turn.id === editable} .edited=${edited.has(turn.id)}></roe-turn>`)}
            ${repeat(talk?.pending || [], (message) => message.event_id, (message) => html`<div class="turn" role="listitem">${messageView(message, { pending: true })}</div>`)}
          </div>
          ${this.ending}
        </div>
      </div>
      <button class="button icon down" id="down" type="button" ?hidden=${!this.away} aria-label=${t("chat.toLatest")} title=${t("chat.toLatest")}
        @click=${() => this.follow(true)}>${icon("arrow-down")}</button>
      <p class="sr" id="announce" role="status" aria-live="polite">${this.said}</p>`;
  }
}

customElements.define("roe-transcript", Transcript);
