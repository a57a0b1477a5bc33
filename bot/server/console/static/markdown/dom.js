// Small helpers for nodes.

/** Create an element with properties and children; `data-…`, `aria-…` and `role` are attributes. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

/** The object behind a node that has its own behaviour: {kind, adopt, show}. */
export const widgets = new WeakMap();

/**
 * Make `present` equal to `fresh`, touching only what differs: selections, scroll positions and what somebody
 * opened stay. A widget decides by `adopt` whether it can take over the new content.
 */
export function morph(present, fresh) {
  const [old, widget] = [widgets.get(present), widgets.get(fresh)];
  const isSame = present.nodeName === fresh.nodeName && old?.kind === widget?.kind;
  if (!isSame || (widget && !old.adopt(widget))) {
    present.replaceWith(fresh);
    return;
  }
  if (widget) return;
  if (present.nodeType === Node.TEXT_NODE) {
    if (fresh.data.startsWith(present.data)) present.appendData(fresh.data.slice(present.data.length));
    else present.data = fresh.data;
    return;
  }
  morphAttributes(present, fresh);
  const children = [...fresh.childNodes];
  const before = [...present.childNodes];
  children.forEach((child, index) => {
    if (index < before.length) morph(before[index], child);
    else present.append(child);
  });
  for (const surplus of before.slice(children.length)) surplus.remove();
}

function morphAttributes(present, fresh) {
  // Whether <details> is open is the reader's choice.
  const isOurs = ({ name }) => !(name === "open" && present.nodeName === "DETAILS");
  for (const { name, value } of [...fresh.attributes].filter(isOurs)) {
    if (present.getAttribute(name) !== value) present.setAttribute(name, value);
  }
  for (const { name } of [...present.attributes].filter(isOurs)) {
    if (!fresh.hasAttribute(name)) present.removeAttribute(name);
  }
}
