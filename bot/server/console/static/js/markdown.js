// Shows HTML that the service rendered and sanitized.

import { el } from "./dom.js";

/** Update `container` to this HTML, keeping unchanged nodes (selections, scroll positions). */
export function render(container, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const block of template.content.querySelectorAll("pre")) wrap(block);
  const wanted = [...template.content.childNodes].filter(
    (node) => node.nodeType === Node.ELEMENT_NODE || node.textContent.trim(),
  );
  const present = [...container.childNodes];
  wanted.forEach((node, index) => {
    if (index >= present.length) container.append(node);
    else if (!present[index].isEqualNode(node)) present[index].replaceWith(node);
  });
  for (const surplus of present.slice(wanted.length)) surplus.remove();
}

function wrap(block) {
  const box = el("div", { className: "code" });
  block.replaceWith(box);
  box.append(block, el("button", { className: "copy", type: "button" }, "Copy"));
}

/** Handle all copy buttons inside `root`. */
export function copyButtons(root) {
  root.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const code = button.parentElement.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(code);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy failed";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}
