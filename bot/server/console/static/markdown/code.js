// Code blocks: language, highlighting, line wrap and copy.

import { element, widgets } from "./dom.js";

const LONGEST = 100_000; // characters that are highlighted
const CHUNK = 60; // lines of a growing block that are highlighted again with each change
let library = null;
let loading = null;

/** Load highlight.js once. */
function loadLibrary() {
  loading ??= import("../vendor/highlight.js").then((module) => (library = module.default));
  return loading;
}

/** Split highlighted HTML at its line ends, closing and reopening what spans several lines. */
function splitLines(html) {
  const lines = [];
  const open = [];
  let line = "";
  for (const piece of html.split(/(<span class="[^"]*">|<\/span>|\n)/)) {
    if (piece === "\n") {
      lines.push({ html: line + "</span>".repeat(open.length), isWhole: open.length === 0 });
      line = open.join("");
      continue;
    }
    if (piece === "</span>") open.pop();
    else if (piece.startsWith("<span")) open.push(piece);
    line += piece;
  }
  lines.push({ html: line, isWhole: open.length === 0 });
  return lines;
}

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** A code block as a `<figure>` that can take over a longer source. */
export class CodeBlock {
  kind = "code";

  constructor({ text, language, isOpen, t }) {
    this.text = text;
    this.language = language;
    this.isOpen = isOpen;
    this.lines = []; // HTML of each line
    this.shown = []; // the same with line ends
    this.settled = 0; // lines of a growing block that are not highlighted again
    this.code = element("code");
    if (language) this.code.className = `language-${language}`;
    this.pre = element("pre", { tabIndex: 0, role: "group", "aria-label": language || t("markdown.code") }, this.code);
    this.bar = element(
      "figcaption",
      {},
      element("span", { className: "language", textContent: language || t("markdown.code") }),
      element("button", { type: "button", "data-act": "wrap", "aria-pressed": "false", textContent: t("markdown.wrap") }),
      element("button", { type: "button", "data-act": "copy", textContent: t("markdown.copy") }),
    );
    this.node = element("figure", { className: "code" }, this.bar, this.pre);
    widgets.set(this.node, this);
  }

  /** What the button copies: of a session in a terminal with prompts, the commands alone. */
  get copied() {
    const commands = this.language === "console" ? this.text.match(/^\$ .*(?:\\\n.*)*$/gm) : null;
    return commands?.map((one) => one.slice(2)).join("\n") ?? this.text;
  }

  adopt(other) {
    if (other.language !== this.language) return false;
    this.text = other.text;
    this.isOpen = other.isOpen;
    this.show();
    return true;
  }

  /** Show the text; the node is in the page. */
  show() {
    const isAtEnd = this.pre.scrollTop > 0 && this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 4;
    this.showLines(this.highlight());
    if (this.isOpen && isAtEnd) this.pre.scrollTop = this.pre.scrollHeight;
  }

  /** Return the HTML of each line. Of a growing block only the last lines are highlighted again. */
  highlight() {
    const plain = this.text.split("\n");
    if (!this.language || this.text.length > LONGEST) return plain.map(escape);
    if (!library) {
      loadLibrary().then(() => this.show());
      return plain.map(escape);
    }
    if (!library.getLanguage(this.language)) return plain.map(escape);
    const { language } = this;
    const from = this.isOpen ? Math.min(this.settled, plain.length - 1) : 0;
    const source = plain.slice(from).join("\n");
    const fresh = splitLines(library.highlight(source, { language, ignoreIllegals: true }).value);
    if (this.isOpen && fresh.length > CHUNK) {
      // Go on from a line at the margin that is in no comment or string.
      const last = fresh.findLastIndex((line, index) => index < fresh.length - 5 && line.isWhole && /^\S/.test(plain[from + index + 1]));
      if (last > 0) this.settled = from + last + 1;
    }
    return [...this.lines.slice(0, from), ...fresh.map(({ html }) => html)];
  }

  showLines(lines) {
    lines.forEach((html, index) => {
      const end = index < lines.length - 1 ? "\n" : "";
      if (this.shown[index] === html + end) return;
      const line = this.code.children[index] ?? this.code.appendChild(element("span", { className: "line" }));
      line.innerHTML = this.shown[index] = html + end;
    });
    while (this.code.children.length > lines.length) this.code.lastChild.remove();
    this.shown.length = lines.length;
    this.lines = lines;
  }
}
