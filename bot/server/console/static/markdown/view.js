// Shows the Markdown of a message, finished or still growing.

import { Blocks } from "./blocks.js";
import { CodeBlock } from "./code.js";
import { Diagram } from "./diagram.js";
import { element, morph, widgets } from "./dom.js";
import { Formula } from "./math.js";
import { sanitize } from "./sanitize.js";

const PAUSE = 40; // ms between two changes of a growing message, at least
const SHARE = 4; // times as long as the last change took
let views = 0;

/** Renders Markdown into an element, keeping the nodes of what has not changed. */
export class MarkdownView {
  #element;
  #t;
  #blocks;
  #shown = []; // {html, node} of each block
  #source = "";
  #isGrowing = false;
  #timer = 0;
  #frame = 0;
  #nextAt = 0;
  #isWatching = false;
  #closing = new AbortController();

  /** `t` returns a text by its key, see texts.js; `id` makes ids unique in the page. */
  constructor(target, { t, id = `message-${(views += 1)}` }) {
    this.#element = target;
    this.#t = t;
    this.#blocks = new Blocks(id);
    target.classList.add("markdown");
    target.addEventListener("click", (event) => this.#click(event), { signal: this.#closing.signal });
  }

  /** Show this source: soon if it is growing, at once otherwise. */
  update(source, { growing = false } = {}) {
    this.#source = source;
    this.#isGrowing = growing;
    if (!growing) this.flush();
    else if (!this.#timer && !this.#frame) {
      const wait = Math.max(0, this.#nextAt - performance.now());
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        this.#frame = requestAnimationFrame(() => this.flush());
      }, wait);
    }
  }

  /** Show the last source now. */
  flush() {
    this.#cancel();
    const begin = performance.now();
    const html = this.#blocks.update(this.#source, this.#isGrowing);
    html.forEach((one, index) => this.#showBlock(one, index));
    for (const { node } of this.#shown.splice(html.length)) this.#remove(node);
    const end = performance.now();
    this.#nextAt = Math.max(begin + PAUSE, end + SHARE * (end - begin));
  }

  /** Stop; the element keeps what it shows. */
  close() {
    this.#cancel();
    this.#closing.abort();
    for (const node of this.#element.querySelectorAll(".diagram")) widgets.get(node).close();
  }

  #cancel() {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#timer = this.#frame = 0;
  }

  #showBlock(html, index) {
    const present = this.#shown[index];
    if (present?.html === html) return;
    const fresh = element("div", { className: "block" }, sanitize(html));
    enhance(fresh, this.#t);
    if (present) morph(present.node, fresh);
    else this.#element.append(fresh);
    const node = this.#element.children[index];
    this.#shown[index] = { html, node };
    for (const one of node.querySelectorAll(".math, .code")) this.#start(widgets.get(one));
  }

  #start(widget) {
    if (!widget || widget.isStarted) return;
    widget.isStarted = true;
    widget.show();
    if (!(widget instanceof Diagram) || this.#isWatching) return;
    // A diagram has the colours of the theme in which it was drawn.
    this.#isWatching = true;
    const { signal } = this.#closing;
    const observer = new MutationObserver(() => this.#redraw());
    observer.observe(document.documentElement, { attributes: true });
    signal.addEventListener("abort", () => observer.disconnect());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#redraw(), { signal });
  }

  #redraw() {
    for (const node of this.#element.querySelectorAll(".diagram")) widgets.get(node).show();
  }

  #remove(node) {
    for (const one of node.querySelectorAll(".diagram")) widgets.get(one).close();
    node.remove();
  }

  async #click({ target }) {
    const button = target.closest("button");
    if (!button || !this.#element.contains(button)) return;
    const widget = widgets.get(button.closest("figure"));
    const { act, note } = button.dataset;
    if (act === "copy") await this.#copy(button, widget.copied ?? widget.text);
    else if (act === "source") widget.toggleSource();
    else if (act === "wrap") {
      const isOn = widget.node.classList.toggle("wrapped");
      button.setAttribute("aria-pressed", String(isOn));
    } else if (act === "note") jump(document.getElementById(`${this.#blocks.id}-note-${note}`));
    else if (act === "back") jump(this.#element.querySelector(`[data-act="note"][data-note="${note}"]`));
  }

  async #copy(button, text) {
    let said = "markdown.copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Refused by the browser, or the page is not served securely.
      said = "markdown.copy_failed";
    }
    button.textContent = this.#t(said);
    setTimeout(() => (button.textContent = this.#t("markdown.copy")), 1500);
  }
}

function jump(to) {
  if (!to) return;
  if (to.tabIndex < 0) to.tabIndex = -1;
  to.focus();
  to.scrollIntoView({ block: "nearest" });
}

/** Turn sanitized HTML into what people use: widgets, buttons, regions that scroll. */
function enhance(root, t) {
  for (const node of root.querySelectorAll("p:empty")) node.remove();
  for (const node of root.querySelectorAll("pre > code")) node.parentElement.replaceWith(codeNode(node, t));
  for (const node of root.querySelectorAll(".math")) new Formula(node);
  for (const node of root.querySelectorAll("table")) {
    const region = element("div", { className: "table", tabIndex: 0, role: "group", "aria-label": t("markdown.table") });
    node.replaceWith(region);
    region.append(node);
  }
  for (const node of root.querySelectorAll("summary:empty")) node.textContent = t("markdown.details");
  for (const node of root.querySelectorAll(".task")) {
    const isDone = node.classList.contains("done");
    const label = t(isDone ? "markdown.done" : "markdown.not_done");
    const box = element("input", { type: "checkbox", disabled: true, className: "task", "aria-label": label });
    box.toggleAttribute("checked", isDone);
    node.parentElement.closest("li")?.classList.add("task-item");
    node.replaceWith(box);
  }
  for (const node of root.querySelectorAll("a:not([href])")) node.replaceWith(...node.childNodes);
  for (const node of root.querySelectorAll("a")) openElsewhere(node, t);
  addNotes(root, t);
}

function codeNode(code, t) {
  const language = /language-(\S+)/.exec(code.className)?.[1] ?? "";
  const options = { text: code.textContent, language, isOpen: code.classList.contains("open"), t };
  return new (language === "mermaid" ? Diagram : CodeBlock)(options).node;
}

function openElsewhere(link, t) {
  const href = link.getAttribute("href");
  if (href.startsWith("#")) return;
  Object.assign(link, { target: "_blank", rel: "noopener noreferrer nofollow", referrerPolicy: "no-referrer" });
  if (!link.classList.contains("image")) return;
  // The policy of the page loads no foreign picture, so a click opens it in a tab of its own.
  const label = link.textContent;
  link.replaceChildren(
    ...(label ? [element("span", { className: "label", textContent: label })] : []),
    element("span", { className: "host", textContent: `${t("markdown.image")} ${new URL(href).host}` }),
  );
}

function addNotes(root, t) {
  for (const node of root.querySelectorAll(".note-ref")) {
    const number = node.textContent;
    const note = { "data-act": "note", "data-note": number, "aria-label": `${t("markdown.footnote")} ${number}` };
    node.replaceChildren(element("button", { type: "button", ...note, textContent: number }));
  }
  root.querySelectorAll(".notes > ol > li").forEach((item, index) => {
    const back = { "data-act": "back", "data-note": index + 1, "aria-label": t("markdown.back") };
    const button = element("button", { type: "button", ...back, textContent: "↩" });
    (item.lastElementChild?.localName === "p" ? item.lastElementChild : item).append(" ", button);
  });
}
