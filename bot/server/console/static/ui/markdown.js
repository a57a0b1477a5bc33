// `<roe-markdown>`: a finished text as Markdown.

import { MarkdownView } from "../markdown/view.js";
import { en, zh } from "../markdown/texts.js";
import { addTexts, t } from "../texts/texts.js";

addTexts({ en, zh });

class Markdown extends HTMLElement {
  constructor() {
    super();
    this.text = "";
    /** @type {MarkdownView | null} */
    this.shown = null;
  }

  set source(text) {
    this.text = text;
    if (this.isConnected) this.show();
  }

  // Diagrams take their colours from the page, so they are drawn within it only.
  connectedCallback() {
    this.show();
  }

  disconnectedCallback() {
    this.shown?.close();
  }

  show() {
    this.shown ??= new MarkdownView(this, { t });
    this.shown.update(this.text);
  }
}

customElements.define("roe-markdown", Markdown);
