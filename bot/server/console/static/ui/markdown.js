// `<roe-markdown>`: a finished text as Markdown.

import { MarkdownView } from "../markdown/view.js";
import { en, zh } from "../markdown/texts.js";
import { addTexts, t } from "../texts/texts.js";

addTexts({ en, zh });

class Markdown extends HTMLElement {
  constructor() {
    super();
    /** @type {MarkdownView | null} */
    this.shown = null;
  }

  set source(text) {
    this.shown ??= new MarkdownView(this, { t });
    this.shown.update(text);
  }

  disconnectedCallback() {
    this.shown?.close();
  }
}

customElements.define("roe-markdown", Markdown);
