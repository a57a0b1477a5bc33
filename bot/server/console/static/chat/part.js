// A part of an answer: Markdown that may grow, a file, or a picture.

import { html } from "../vendor/lit.js";
import { MarkdownView } from "../markdown/view.js";
import { t } from "../texts/texts.js";
import { icon } from "../ui/icon.js";

/** The text of a part; `state` is `{text, growing}`. */
class TextPart extends HTMLElement {
  constructor() {
    super();
    this.shown = { text: "", growing: false };
    /** @type {MarkdownView | null} */
    this.view = null;
  }

  /** @param {{text: string, growing: boolean}} state */
  set state(state) {
    if (this.view && state.text === this.shown.text && state.growing === this.shown.growing) return;
    this.shown = state;
    if (this.isConnected) this.draw();
  }

  draw() {
    this.view ??= new MarkdownView(this, { t });
    this.view.update(this.shown.text, { growing: this.shown.growing });
  }

  connectedCallback() {
    this.draw();
  }

  disconnectedCallback() {
    this.view?.close();
    this.view = null;
    this.replaceChildren();
  }
}

customElements.define("roe-text", TextPart);

/** The template of a text. */
export const textView = (text, growing = false) => html`<roe-text class="part" .state=${{ text, growing }}></roe-text>`;

/** The template of a part; its element stays while the part grows. `text` is what is shown of its text. */
export function partView(part, growing = false, text = part.text) {
  if (part.kind === "text") return textView(text, growing);
  return html`<div class="part">${part.image ? picture(part) : download(part)}</div>`;
}

const download = (part) => html`<a class="file card" href="${part.url}?download=true" download=${part.filename}>
  ${icon("file-text")}<span class="grow words">${part.filename}</span><span class="quiet small row">${icon("download")}${t("chat.download")}</span>
</a>`;

const picture = (part) => html`<figure class="picture">
  <a href=${part.url} target="_blank" rel="noopener"><img src=${part.url} alt=${part.filename} loading="lazy" /></a>
  <figcaption class="small quiet">${part.filename}</figcaption>
</figure>`;
