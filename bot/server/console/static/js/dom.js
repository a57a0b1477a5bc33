// Small helpers around the document.

export const $ = (id) => document.getElementById(id);

/** An element with properties, attributes (names with a dash, or `role`) and children. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

export function show(element, visible) {
  element.hidden = !visible;
}

/** A line of text in an element that is hidden while there is none. */
export function say(element, text) {
  element.textContent = text || "";
  element.hidden = !text;
}
