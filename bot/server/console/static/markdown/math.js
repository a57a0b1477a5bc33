// Formulas: KaTeX, loaded with the first one. A formula that it can't read is shown as source.

import { element, widgets } from "./dom.js";

const LONGEST = 5000; // characters
const OPTIONS = { throwOnError: true, errorColor: "inherit", trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 };
let library = null;
let loading = null;

function loadLibrary() {
  loading ??= Promise.all([import("../vendor/katex.js"), loadStyles()]).then(([module]) => (library = module.default));
  return loading;
}

function loadStyles() {
  const href = new URL("../vendor/katex.css", import.meta.url).href;
  const link = element("link", { rel: "stylesheet", href });
  return new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}

/**
 * Run KaTeX 0.19 with style attributes turned into styles, which the page's policy allows: it sets the attribute on
 * the pictures of accents and large brackets.
 */
function withoutStyleAttributes(run) {
  const { setAttribute } = Element.prototype;
  Element.prototype.setAttribute = function set(name, value) {
    if (name === "style" && "style" in this) /** @type {any} */ (this).style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  try {
    run();
  } finally {
    Element.prototype.setAttribute = setAttribute;
  }
}

/** Return a formula without its delimiters. */
function inner(source) {
  const found = /^(?:\$\$([^]*)\$\$|\$([^]*)\$|\\\(([^]*)\\\)|\\\[([^]*)\\\])$/.exec(source);
  return found ? (found[1] ?? found[2] ?? found[3] ?? found[4]) : source;
}

/** A formula; its node holds the source until it is drawn. */
export class Formula {
  kind = "math";

  constructor(node) {
    this.node = node;
    this.source = node.textContent;
    this.isDisplay = node.classList.contains("display");
    widgets.set(node, this);
    node.dir = "ltr";
  }

  adopt(other) {
    return this.source === other.source && this.isDisplay === other.isDisplay;
  }

  /** Draw the formula once the library is there. */
  show() {
    if (this.source.length > LONGEST) return;
    if (library) this.draw(library);
    else loadLibrary().then((katex) => this.draw(katex));
  }

  draw(katex) {
    const drawn = document.createElement("span");
    try {
      const options = { ...OPTIONS, displayMode: this.isDisplay };
      withoutStyleAttributes(() => katex.render(inner(this.source), drawn, options));
    } catch (error) {
      if (!(error instanceof katex.ParseError) && !(error instanceof RangeError)) throw error;
      this.node.classList.add("invalid");
      this.node.title = error.message;
      return;
    }
    this.node.replaceChildren(...drawn.childNodes);
    if (this.isDisplay) this.node.tabIndex = 0;
  }
}
