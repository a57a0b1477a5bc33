// The open section: drawn from the API, and redrawn when the data may have changed.

import { ApiError } from "./api.js";
import { $, el, say } from "./dom.js";

const SOON = 300;

export class View {
  /** `rest` and `settings` are the path and query of the URL after the name of the section. */
  constructor(section, { rest, settings }) {
    this.section = section;
    this.rest = rest;
    this.settings = settings;
    this.box = $("section-content");
    this.pages = new Map();
    this.stream = null;
    this.focus = "";
    this.drawn = 0;
    this.reads = 0;
    this.closed = false;
  }

  /** Load and draw. If several calls run at once, the last one wins. */
  async load() {
    const turn = (this.reads += 1);
    let nodes;
    try {
      nodes = await this.section.draw(this);
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error);
      nodes = [this.failure(error)];
    }
    if (this.closed || turn !== this.reads) return;
    this.put(nodes.filter(Boolean));
    this.drawn = Date.now();
  }

  put(nodes) {
    const old = [...this.box.children];
    const same = nodes.length === old.length && nodes.every((node, place) => node.isEqualNode(old[place]));
    if (same && !this.focus) return;
    const active = document.activeElement;
    const inside = this.box.contains(active);
    const place = inside ? this.stops().indexOf(active) : -1;
    const wanted = this.focus || (inside ? active.id : "");
    const opened = [...this.box.querySelectorAll("details[open][id]")].map(({ id }) => id);
    this.focus = "";
    this.box.replaceChildren(...nodes);
    for (const id of opened) if ($(id)) $(id).open = true;
    if (wanted || inside) ((wanted && $(wanted)) || this.stops()[place] || $("section-title")).focus();
  }

  /** Return the focusable elements in tab order. */
  stops() {
    return [...this.box.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
  }

  failure(error) {
    const again = el("button", { type: "button", className: "plain", id: "again" }, "Try again");
    again.addEventListener("click", () => this.load());
    return el("div", { className: "failure", role: "alert" }, el("p", {}, error.message), again);
  }

  /** Reload in the background, unless a field has unsaved input. */
  refresh() {
    const fields = [...this.box.querySelectorAll("input, textarea")];
    if (fields.every((field) => field.value === field.defaultValue)) this.load();
  }

  /** Reload after a short delay, so that bursts of events reload once. */
  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => !this.closed && this.refresh(), SOON);
  }

  /** Run the action of a button and report its result; `to` is the URL to open afterwards. */
  async act(button, work, done, to = "") {
    showStatus("");
    button.disabled = true;
    try {
      const result = await work();
      const text = typeof done === "function" ? done(result) : done;
      this.focus = button.id;
      if (to) addEventListener("hashchange", () => showStatus(text), { once: true });
      else showStatus(text);
      if (to) location.hash = to;
      else await this.load();
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error);
      showProblem(error.message);
      button.disabled = false;
      button.focus();
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.stream?.close();
  }
}

/** Show a success message. */
export function showStatus(text) {
  say($("section-problem"), "");
  $("section-status").textContent = text;
}

/** Show an error message. */
export function showProblem(text) {
  $("section-status").textContent = "";
  say($("section-problem"), text);
}

/** Open a form from a button, one at a time. `work` resolves to true if something was saved; then show `done`. */
export async function withForm(view, opener, done, work) {
  if (opener.ariaBusy === "true") return;
  opener.ariaBusy = "true";
  try {
    if (await work()) {
      showStatus(done);
      view.focus = opener.id;
      await view.load();
    }
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    showProblem(error.message);
  }
  opener.ariaBusy = "false";
}
