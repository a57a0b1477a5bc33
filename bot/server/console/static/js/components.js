// Building blocks of sections: tables, pages, fields, buttons. Text from the service is never inserted as markup.

import { get } from "./api.js";
import { confirmDialog } from "./dialog.js";
import { el } from "./dom.js";

const PROSE = 24;

/** A table; the first cell of each row is its header. Cells are texts or nodes. */
export function table(label, heads, rows) {
  const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
  const body = rows.map(([first, ...rest]) =>
    el("tr", {}, el("th", { scope: "row" }, first), ...rest.map(cellOf)),
  );
  const made = el("table", { "aria-label": label }, el("thead", {}, head), el("tbody", {}, ...body));
  made.classList.toggle("acts", heads.at(-1) === "Actions");
  return el("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": label }, made);
}

/** Long text gets a wider column. */
function cellOf(cell) {
  return el("td", typeof cell === "string" && cell.length > PROSE ? { className: "prose" } : {}, cell);
}

/** Return a table, or `none` as a line of text if there are no rows. */
export function tableOrEmpty(label, heads, rows, none) {
  return rows.length ? table(label, heads, rows) : el("p", { className: "none" }, none);
}

export function section(title, ...children) {
  return el("section", { className: "block" }, el("h2", {}, title), ...children.filter(Boolean));
}

export function toolbar(...children) {
  return el("div", { className: "toolbar" }, ...children.filter(Boolean));
}

export function link(href, text, label = "") {
  const made = el("a", { href }, text);
  if (label) made.setAttribute("aria-label", label);
  return made;
}

/** Return a badge; `kind` is good, warn, bad or "". */
export function badge(text, kind = "") {
  return el("span", { className: `badge ${kind}`.trim() }, text);
}

/** Return an id for a table cell; long ids are cut by the stylesheet. */
export function id(text) {
  return el("span", { className: "id", title: text }, text);
}

/** Return a description list of name and value pairs. */
export function facts(pairs) {
  const rows = pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
  return el("dl", { className: "facts" }, ...rows);
}

/** Load the pages shown so far: the items, a button for more (null at the end), and the last response. */
export async function fetchPages(view, path, key) {
  const wanted = view.pages.get(key) || 1;
  const found = [];
  let next = "";
  let answer = null;
  for (let page = 0; page < wanted && next !== null; page += 1) {
    answer = await get(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(next)}`);
    found.push(...answer[key]);
    next = answer.next;
  }
  if (next === null) return { found, more: null, answer };
  const more = el("button", { type: "button", className: "more", id: `more-${key}` }, "Show more");
  more.addEventListener("click", () => {
    view.pages.set(key, wanted + 1);
    view.load();
  });
  return { found, more, answer };
}

/** Return a button; `about` names its object for screen readers. */
export function button(label, { id, about = "", kind = "", press }) {
  const className = kind === "primary" ? kind : `plain ${kind}`.trim();
  const made = el("button", { type: "button", className, id }, label);
  if (about) made.setAttribute("aria-label", `${label}: ${about}`);
  made.addEventListener("click", () => press(made));
  return made;
}

/** Return a button that calls the API, after a confirmation if `ask` has a text. */
export function actionButton(view, label, { ask = "", work, done, to, ...rest }) {
  const press = async (made) => {
    if (ask && !(await confirmDialog(`${label}?`, ask, label))) return;
    await view.act(made, work, done, to);
  };
  return button(label, { ...rest, press });
}

let fields = 0;

/** Return a control with its label and an optional hint. */
export function field(label, control, hint = "") {
  control.id ||= `field-${(fields += 1)}`;
  const box = el("div", { className: "field" }, el("label", { htmlFor: control.id }, label), control);
  if (hint) {
    const line = el("small", { id: `${control.id}-hint` }, hint);
    control.setAttribute("aria-describedby", line.id);
    box.append(line);
  }
  return box;
}

export function text(value = "", more = {}) {
  return el("input", { type: "text", autocomplete: "off", ...more, defaultValue: value });
}

/** Return a select of `[value, text]` pairs. */
export function choice(options, value = "", more = {}) {
  const made = el("select", more);
  fill(made, options, value);
  return made;
}

export function fill(select, options, value = "") {
  const known = String(value);
  select.replaceChildren(
    ...options.map(([key, shown]) => {
      const selected = String(key) === known;
      return el("option", { value: key, selected, defaultSelected: selected }, shown);
    }),
  );
}
