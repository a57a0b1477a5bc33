// Modal dialogs, messages at the bottom, and menus.

import { html, nothing, render } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { marked } from "./format.js";
import { explain } from "./page.js";

/**
 * Open a dialog and return its element; it is removed when it closes. `content(close)` returns a template.
 * @param {string} title
 * @param {(close: (value?: string) => void, redraw: () => void) => unknown} content
 * @param {(value: string) => void} [closed]
 */
export function openDialog(title, content, closed = () => {}) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "dialog-title");
  const close = (value = "") => dialog.close(value);
  const redraw = () =>
    render(html`<div class="dialog"><h2 id="dialog-title" tabindex="-1">${title}</h2>${content(close, redraw)}</div>`, dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed(dialog.returnValue);
  });
  // A press on the backdrop closes, but not the end of a selection that began inside.
  dialog.addEventListener("mousedown", (event) => {
    if (event.target === dialog) close();
  });
  redraw();
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Close all open dialogs without an answer. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) /** @type {HTMLDialogElement} */ (dialog).close("");
}

/**
 * Ask for confirmation; resolves to true or false.
 * @returns {Promise<boolean>}
 */
export function confirmDialog(title, text, yes, { danger = false } = {}) {
  return new Promise((resolve) => {
    openDialog(
      title,
      (close) => html`<p>${text}</p>
        <div class="answers">
          <button class="button" autofocus @click=${() => close()}>${t("app.cancel")}</button>
          <button class="button primary ${danger ? "danger" : ""}" @click=${() => close("yes")}>${yes}</button>
        </div>`,
      (value) => resolve(value === "yes"),
    );
  });
}

/**
 * Show a form; resolves to true once it was sent. `send(FormData)` throws ApiError for invalid input and returns
 * false to keep the form open.
 * @param {string} title
 * @param {(redraw: () => void) => unknown} fields
 * @param {string} yes
 * @param {(data: FormData, redraw: () => void) => Promise<unknown>} send
 * @returns {Promise<boolean>}
 */
export function formDialog(title, fields, yes, send, { danger = false } = {}) {
  let problem = "";
  let busy = false;
  return new Promise((resolve) => {
    const submit = async (event, close, redraw) => {
      event.preventDefault();
      if (busy) return;
      busy = true;
      problem = "";
      redraw();
      try {
        if ((await send(new FormData(event.target), redraw)) !== false) return close("yes");
      } catch (error) {
        problem = explain(error);
      } finally {
        busy = false;
      }
      redraw();
      return null;
    };
    openDialog(
      title,
      (close, redraw) => html`<form class="stack" @submit=${(event) => submit(event, close, redraw)}>
        ${fields(redraw)}
        ${problem ? html`<p class="problem" role="alert">${marked(problem)}</p>` : nothing}
        <div class="answers">
          <button class="button" type="button" @click=${() => close()}>${t("app.cancel")}</button>
          <button class="button primary ${danger ? "danger" : ""}" ?disabled=${busy}>${yes}</button>
        </div>
      </form>`,
      (value) => resolve(value === "yes"),
    );
  });
}

const SHOWN = 5000;
/** Where the pointer is: messages let it through, so they don't get its events. */
let pointer = { x: -1, y: -1 };
addEventListener("pointermove", ({ clientX: x, clientY: y }) => (pointer = { x, y }));

/** Show a message for a few seconds, longer under the pointer or with the focus, with an action if there is one (`{text, run}`). */
export function toast(text, action = null) {
  let box = document.querySelector(".toasts");
  if (!box) {
    box = Object.assign(document.createElement("div"), { className: "toasts", role: "status" });
    document.body.append(box);
  }
  const shown = Object.assign(document.createElement("div"), { className: "toast" });
  const press = () => {
    shown.remove();
    action.run();
  };
  render(html`<span>${marked(text)}</span>${action ? html`<button class="button tiny" @click=${press}>${action.text}</button>` : nothing}`, shown);
  box.append(shown);
  const leave = () => {
    const { left, right, top, bottom } = shown.getBoundingClientRect();
    const isPointed = pointer.x >= left && pointer.x <= right && pointer.y >= top && pointer.y <= bottom;
    if (isPointed || shown.contains(document.activeElement)) setTimeout(leave, SHOWN / 5);
    else shown.remove();
  };
  setTimeout(leave, action ? 2 * SHOWN : SHOWN);
}

/** Run an action and show its failure; returns its result, or undefined. */
export async function attempt(work, done = "") {
  try {
    const result = await work();
    if (done) toast(done);
    return result;
  } catch (error) {
    toast(explain(error));
    return undefined;
  }
}

/** Copy a text and say so. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("app.copied"));
  } catch {
    toast(t("app.copyFailed"));
  }
}

/**
 * Open a menu at a button. Items: `{text, icon, run, checked, danger, hint}`, `"-"` for a line, `{title}` for a heading.
 * @param {HTMLElement} anchor
 * @param {any[]} items
 * @param {(item: any) => unknown} draw
 */
export function openMenu(anchor, items, draw) {
  const open = document.querySelector(".menu:popover-open");
  if (open) {
    /** @type {HTMLElement} */ (open).hidePopover();
    if (anchor.getAttribute("aria-expanded") === "true") return;
  }
  const menu = Object.assign(document.createElement("div"), { className: "menu", popover: "auto", role: "menu" });
  menu.setAttribute("aria-label", anchor.getAttribute("aria-label") || anchor.textContent.trim());
  const pick = (item) => {
    menu.hidePopover();
    item.run();
  };
  render(items.map((item) => draw({ item, pick: () => pick(item) })), menu);
  document.body.append(menu);
  anchor.setAttribute("aria-expanded", "true");
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
    anchor.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement)) anchor.focus();
    menu.remove();
  });
  menu.addEventListener("keydown", (event) => moveFocus(event, menu));
  menu.showPopover();
  place(menu, anchor);
  /** @type {HTMLElement | null} */ (menu.querySelector(".item"))?.focus();
}

function moveFocus(event, menu) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll(".item")];
  items[(items.indexOf(document.activeElement) + step + items.length) % items.length]?.focus();
}

function place(menu, anchor) {
  const at = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + height + 8 < innerHeight || at.top < height;
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  menu.style.top = `${below ? Math.min(at.bottom + 4, innerHeight - height - 8) : at.top - height - 4}px`;
}
