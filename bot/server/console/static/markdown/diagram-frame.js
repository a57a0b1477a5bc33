// Runs in the frame /diagram: draws Mermaid sources and sends the pictures to the page around it.

import mermaid from "../vendor/mermaid/mermaid.js";

const FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif';
/** @type {import("mermaid").MermaidConfig} */
const SETTINGS = {
  startOnLoad: false,
  securityLevel: "strict",
  suppressErrorRendering: true,
  // Mermaid 12 would use elk, which is not among our files.
  layout: "dagre",
  look: "classic",
  htmlLabels: false,
  flowchart: { htmlLabels: false },
  class: { htmlLabels: false },
  fontFamily: FONT,
  maxTextSize: 20_000,
  maxEdges: 500,
};
// A diagram may change none of these by its own directives.
const secure = [...Object.keys(SETTINGS), "secure", "themeCSS", "dompurifyConfig", "deterministicIds", "theme"];

// Mermaid 12.3 parses the tags of a label even in strict mode, so that their handlers would run without the policy of
// this page. Tags that format text stay; stereotypes such as <<interface>> are none.
const TAG = /(?<!<)<(?=\/?[a-z])(?!\/?(?:br?|code|em|i|strong|su[bp]|u)\s*\/?>)/gi;

async function draw({ id, source, isDark }) {
  mermaid.initialize({ ...SETTINGS, secure, theme: isDark ? "dark" : "default" });
  const { svg } = await mermaid.render(`diagram-${id}`, source.replace(TAG, "#lt;"));
  const drawing = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const [, , width, height] = (drawing.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!(width > 0 && height > 0)) throw new Error("no size");
  drawing.setAttribute("width", String(width));
  drawing.setAttribute("height", String(height));
  return { id, svg: new XMLSerializer().serializeToString(drawing), width, height };
}

addEventListener("message", async ({ source, origin, data }) => {
  if (source !== parent || origin !== location.origin) return;
  let answer;
  try {
    answer = await draw(data);
  } catch (error) {
    answer = { id: data.id, problem: String(error.message ?? error).slice(0, 300) };
  }
  document.body.replaceChildren();
  parent.postMessage(answer, location.origin);
});
parent.postMessage({ ready: true }, location.origin);
