// A turn: what a person wrote, and the answer with its steps, questions, marks and actions.

import { html, nothing, repeat } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { approvalNote, approvalTitle, ownWords } from "../ui/approval.js";
import { copyText } from "../ui/dialog.js";
import { Element } from "../ui/element.js";
import { icon } from "../ui/icon.js";
import { explain } from "../ui/page.js";
import { isOpen } from "./conversation.js";
import { showDetails } from "./details.js";
import { failureView } from "./failure.js";
import { isWritten, messageView } from "./message.js";
import { partView, textView } from "./part.js";
import { choicesView } from "./question.js";
import { stepsView } from "./steps.js";

/** The steps that the service adds to a growing text: they are shown above it. */
const CHECKLIST = /\n*(?:> [○▸✓✗] [^\n]*\n?)+$/;
const REPEATABLE = new Set(["done", "failed", "cancelled"]);

/** The exact Markdown of an answer. */
export const markdownOf = (turn) =>
  turn.parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("\n\n");

class Turn extends Element {
  static properties = {
    turn: { attribute: false },
    talk: { attribute: false },
    last: { type: Boolean },
    editable: { type: Boolean },
    edited: { type: Boolean },
    editing: { state: true },
    problem: { state: true },
    busy: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */
    this.turn = null;
    /** @type {import("./conversation.js").Conversation | null} */
    this.talk = null;
    /** True for the last turn of the agent, which can be answered again. */
    this.last = false;
    /** True if the message can be replaced. */
    this.editable = false;
    /** True if the message was replaced by another one. */
    this.edited = false;
    this.editing = false;
    this.problem = "";
    this.busy = false;
  }

  willUpdate() {
    const { id, kind, state, replaced } = this.turn;
    Object.assign(this.dataset, { turn: id, kind, state });
    this.classList.add("turn");
    this.classList.toggle("replaced", replaced);
    this.classList.toggle("last", this.last);
    this.setAttribute("role", "listitem");
    this.hadFocus = this.querySelector(".choices")?.contains(document.activeElement);
  }

  updated() {
    // The pressed button is gone: move the focus to the next button or to the messages.
    if (!this.hadFocus || this.querySelector(".choices")?.contains(document.activeElement)) return;
    const next = this.querySelector(".choice") || this.closest("#scroll");
    /** @type {HTMLElement | null} */ (next)?.focus({ preventScroll: true });
  }

  get growing() {
    return this.turn.state === "running" && this.turn.parts.some((part) => part.kind !== "text" || this.shownText(part));
  }

  get own() {
    return this.talk?.info?.chat_kind === "private" || !this.talk?.info;
  }

  /** Run an action of this turn; its failure is shown below. */
  async act(work) {
    if (this.busy) return false;
    this.busy = true;
    this.problem = "";
    try {
      await work();
      return true;
    } catch (error) {
      this.problem = explain(error);
      return false;
    } finally {
      this.busy = false;
    }
  }

  /** Answer a question; what comes of it is followed like a message that was sent. */
  async choose(part, choice) {
    if (await this.act(() => this.talk.answer(this.turn, part, choice))) /** @type {any} */ (this.closest("roe-transcript"))?.follow(true);
  }

  edit() {
    this.editing = true;
    this.updateComplete.then(() => {
      const field = /** @type {HTMLTextAreaElement} */ (this.querySelector(".edit textarea"));
      field.focus();
      field.setSelectionRange(field.value.length, field.value.length);
    });
  }

  async resend(event) {
    event.preventDefault();
    const text = /** @type {HTMLTextAreaElement} */ (this.querySelector(".edit textarea")).value.trim();
    if (text && (await this.act(() => this.talk.edit(this.turn, text)))) this.leaveEdit();
  }

  leaveEdit() {
    this.editing = false;
    /** @type {HTMLElement | null} */ (document.querySelector("#text"))?.focus();
  }

  editKey(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.leaveEdit();
    } else if (event.key === "Enter" && !event.shiftKey) this.resend(event);
  }

  render() {
    const { messages, replaced, parts, kind } = this.turn;
    const asked = this.editing
      ? this.editForm()
      : html`<div class="messages">${messages.filter(isWritten).map((one) => messageView(one, { own: this.own }))}</div>${messages.length && kind === "chat" ? this.messageActions() : nothing}`;
    const old = (text, content) => html`<details class="old-answer"><summary>${icon("chevron-right")}${t(text)}</summary><div class="old">${content}</div></details>`;
    if (this.edited) return html`${old("chat.showEdited", html`${asked}${this.answer()}`)}`;
    return html`${asked}
      ${replaced && parts.length ? old("chat.showReplaced", this.answer()) : this.answer()}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      ${this.marks()}
      ${this.actions()}`;
  }

  editForm() {
    const text = this.turn.messages.map((message) => message.text).join("\n");
    return html`<form class="edit" @submit=${this.resend}>
      <textarea class="input" rows="3" aria-label=${t("chat.editMessage")} .value=${text} @keydown=${this.editKey}></textarea>
      <p class="small quiet">${t("chat.editNote")}</p>
      <div class="answers">
        <button class="button" type="button" @click=${this.leaveEdit}>${t("app.cancel")}</button>
        <button class="button primary" ?disabled=${this.busy}>${t("chat.resend")}</button>
      </div>
    </form>`;
  }

  answer() {
    const { parts, state, asks, approval } = this.turn;
    // The file with a long request belongs to the card below.
    const attached = approval ? parts.filter(({ kind }) => kind === "document") : [];
    const said = parts.filter((part) => !attached.includes(part) && (part.kind !== "text" || this.shownText(part)));
    const content = html`<div class="answer ${this.growing ? "growing" : ""}" aria-busy=${isOpen(this.turn)} ?hidden=${!said.length}>
        ${repeat(said, (part) => part.index, (part) => partView(part, this.growing, this.shownText(part)))}
      </div>`;
    const retry = () => this.act(() => this.talk.regenerate(this.turn));
    if (state === "failed") return html`${stepsView(this.turn)}${content}${failureView(this.turn, this.canRepeat ? retry : null)}`;
    const questions = parts.filter((part) => part.choices.length);
    const buttons = questions.map((part) => choicesView(part, approval, this.busy, (choice) => this.choose(part, choice)));
    const card = (kind, glyph, title, shown) => html`<div class="asks ${kind}"><p class="row asks-head">${icon(glyph)}<strong class="words">${title}</strong></p>${shown}</div>`;
    if (approval) {
      const request = html`${textView(approval.request)}${attached.map((part) => partView(part))}${buttons}${approvalNote(approval, questions.flatMap((part) => part.choices))}`;
      return html`${stepsView(this.turn)}${content}${card("approval", "shield", approvalTitle(approval), request)}`;
    }
    return html`${stepsView(this.turn)}
      ${asks && questions.length ? card("question", "circle-help", t("chat.question"), html`${content}${buttons}`) : html`${content}${buttons}`}
      ${state === "running" && !this.growing ? html`<p class="typing"><span class="sr">${t("chat.working")}</span><i></i><i></i><i></i></p>` : nothing}`;
  }

  shownText(part) {
    return this.turn.state === "running" && this.turn.steps.length ? part.text.replace(CHECKLIST, "") : ownWords(part);
  }

  get canRepeat() {
    return this.last && this.turn.kind === "chat" && REPEATABLE.has(this.turn.state) && !this.turn.asks && Boolean(this.talk?.writable);
  }

  marks() {
    const { state, kind, repeats, replaced, parts } = this.turn;
    const found = [
      state === "expired" && ["chat.mark.expired", "warn"],
      state === "cancelled" && ["chat.mark.stopped", ""],
      state === "accepted" && kind === "chat" && ["chat.mark.waiting", ""],
      repeats && ["chat.mark.regenerated", ""],
      replaced && ["chat.mark.replaced", ""],
      parts.some((part) => part.state === "undelivered") && ["chat.mark.undelivered", "bad"],
      parts.some((part) => part.repeated) && ["chat.mark.repeated", "warn"],
    ].filter(Boolean);
    if (!found.length) return nothing;
    return html`<p class="marks">${found.map(([key, kind_]) => html`<span class="badge ${kind_}">${t(key)}</span>`)}</p>`;
  }

  messageActions() {
    const text = this.turn.messages.map((message) => message.text).join("\n");
    return html`<div class="acts end">
      ${act("copy", t("chat.copyMessage"), () => copyText(text))}
      ${this.editable ? act("pencil", t("chat.editMessage"), () => this.edit()) : nothing}
    </div>`;
  }

  actions() {
    const { turn, talk } = this;
    if (turn.kind !== "chat" || isOpen(turn)) return nothing;
    const rate = (value) => this.act(() => talk.rate(turn, turn.rating === value ? 0 : value));
    const rates = talk?.info?.own && !turn.asks;
    const copy = turn.parts.length ? act("copy", t("chat.copyAnswer"), () => copyText(markdownOf(turn))) : nothing;
    if (turn.replaced) return html`<div class="acts">${copy}</div>`;
    return html`<div class="acts">
      ${copy}
      ${rates ? act("thumbs-up", t("chat.rateUp"), () => rate(1), turn.rating === 1) : nothing}
      ${rates ? act("thumbs-down", t("chat.rateDown"), () => rate(-1), turn.rating === -1) : nothing}
      ${this.canRepeat && turn.state !== "failed" ? act("refresh-cw", t("chat.regenerate"), () => this.act(() => talk.regenerate(turn))) : nothing}
      ${act("info", t("chat.details"), () => showDetails(turn))}
    </div>`;
  }
}

const act = (glyph, label, run, pressed) => html`<button class="button ghost icon tiny" type="button" aria-label=${label} title=${label}
  aria-pressed=${pressed === undefined ? nothing : pressed} @click=${run}>${icon(glyph)}</button>`;

customElements.define("roe-turn", Turn);
