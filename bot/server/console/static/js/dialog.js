// Questions and forms that are answered before anything else.

import { ApiError } from "./api.js";
import { el, say } from "./dom.js";

/** Whether somebody says yes. */
export function confirmDialog(title, text, yes) {
  const no = el("button", { type: "button", className: "plain" }, "Cancel");
  const ok = el("button", { type: "button", className: "primary" }, yes);
  const dialog = box(title, el("p", {}, text), el("div", { className: "answers" }, no, ok));
  no.addEventListener("click", () => dialog.close(""));
  ok.addEventListener("click", () => dialog.close("yes"));
  return answered(dialog, no);
}

/**
 * A form; `send` throws ApiError for what is wrong and returns false to go on asking.
 * Whether it was sent.
 */
export function formDialog(title, children, yes, send) {
  const problem = el("p", { className: "problem", role: "alert", hidden: true });
  const no = el("button", { type: "button", className: "plain" }, "Cancel");
  const ok = el("button", { type: "submit", className: "primary" }, yes);
  const made = el("form", { noValidate: false }, ...children, problem, el("div", { className: "answers" }, no, ok));
  const dialog = box(title, made);
  no.addEventListener("click", () => dialog.close(""));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    ok.disabled = true;
    say(problem, "");
    try {
      if ((await send()) !== false) dialog.close("yes");
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error);
      say(problem, error.message);
    }
    ok.disabled = false;
  });
  return answered(dialog);
}

/** Close what is open without an answer: what it asked about is not shown any more. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("");
}

function box(title, ...children) {
  const heading = el("h2", { id: "dialog-title" }, title);
  return el("dialog", { className: "dialog", "aria-labelledby": "dialog-title" }, heading, ...children);
}

function answered(dialog, first = null) {
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
    first?.focus();
  });
}
