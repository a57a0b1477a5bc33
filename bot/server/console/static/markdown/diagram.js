// Mermaid diagrams. A frame with an origin and a policy of its own draws them; only a picture comes back.

import { CodeBlock } from "./code.js";
import { element } from "./dom.js";

/** The origin that messages of a sandboxed frame name. */
const OPAQUE = "null";
const LONGEST = 20_000; // characters of a source
const LARGEST = 2_000_000; // characters of a picture
const PATIENCE = 15_000; // ms for one diagram, with the first load of Mermaid

let frame = null;
let listens = null; // resolves when the frame listens
let counter = 0;
/** @type {Promise<unknown>} */
let queue = Promise.resolve();

/** Open the frame that draws. */
function openFrame() {
  frame = element("iframe", { src: "/diagram", className: "diagram-frame", tabIndex: -1, "aria-hidden": "true" });
  frame.setAttribute("sandbox", "allow-scripts");
  const opened = frame;
  document.body.append(opened);
  listens = receive(opened, (data) => data.ready === true);
  listens.catch(() => {});
}

/** Wait for a message of the frame; a frame that says nothing is closed. */
function receive(from, isExpected) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error("timeout")), true), PATIENCE);
    const listen = ({ source, origin, data }) => {
      if (source === from.contentWindow && origin === OPAQUE && isExpected(data)) finish(() => resolve(data));
    };
    function finish(settle, isDead = false) {
      clearTimeout(timer);
      removeEventListener("message", listen);
      if (isDead) from.remove();
      if (isDead && frame === from) frame = null;
      settle();
    }
    addEventListener("message", listen);
  });
}

/** Draw a source; resolves to {svg, width, height}. Diagrams are drawn one after the other. */
function draw(source, isDark) {
  const drawn = queue.then(async () => {
    if (!frame) openFrame();
    const used = frame;
    await listens;
    const id = (counter += 1);
    const answer = receive(used, (data) => data.id === id);
    // An opaque origin can't be named as a target.
    used.contentWindow.postMessage({ id, source, isDark }, "*");
    const { svg, width, height, problem } = await answer;
    if (typeof svg !== "string" || svg.length > LARGEST) throw new Error(String(problem ?? "no picture"));
    return { svg, width: Number(width) || 0, height: Number(height) || 0 };
  });
  queue = drawn.catch(() => {});
  return drawn;
}

/** Tell whether text around the node is light on dark. */
function isDark(node) {
  const [red, green, blue] = getComputedStyle(node).color.match(/[\d.]+/g).map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue > 128;
}

/** A code block that is shown as a picture once its source is complete and valid. */
export class Diagram extends CodeBlock {
  constructor(options) {
    super(options);
    this.t = options.t;
    this.node.classList.add("diagram");
    const text = this.t("markdown.show_source");
    this.button = element("button", { type: "button", "data-act": "source", "aria-pressed": "false", textContent: text });
    this.picture = element("div", { className: "drawing", tabIndex: 0, role: "group", "aria-label": this.t("markdown.diagram") });
    this.address = "";
    this.drawn = "";
  }

  show() {
    super.show();
    const key = `${isDark(this.node)} ${this.text}`;
    if (this.isOpen || this.drawn === key || this.text.length > LONGEST) return;
    this.drawn = key;
    draw(this.text, isDark(this.node)).then(
      (picture) => this.drawn === key && this.showPicture(picture),
      (error) => this.drawn === key && this.showProblem(error),
    );
  }

  showPicture({ svg, width, height }) {
    this.close();
    this.address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    const image = element("img", { src: this.address, alt: this.t("markdown.diagram"), width, height });
    this.picture.replaceChildren(image);
    if (!this.button.isConnected) this.bar.firstChild.after(this.button);
    if (!this.picture.isConnected) this.pre.before(this.picture);
    if (this.button.getAttribute("aria-pressed") === "false") this.pre.hidden = true;
  }

  showProblem(error) {
    this.node.classList.add("invalid");
    this.node.dataset.problem = error.message;
    if (this.bar.querySelector(".problem")) return;
    this.bar.firstChild.after(element("span", { className: "problem", textContent: this.t("markdown.no_diagram") }));
  }

  /** Show or hide the source beside the picture. */
  toggleSource() {
    this.pre.hidden = !this.pre.hidden;
    this.button.setAttribute("aria-pressed", String(!this.pre.hidden));
  }

  close() {
    if (this.address) URL.revokeObjectURL(this.address);
  }
}
