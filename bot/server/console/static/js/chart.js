// Bar charts as SVG.

import { number } from "./format.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 24;
const TOP = 14;

/** Return a bar chart of `[name, value]` pairs; `label` describes it for screen readers. */
export function barChart(label, pairs) {
  const most = Math.max(1, ...pairs.map(([, value]) => value));
  const step = (WIDTH - LEFT) / Math.max(1, pairs.length);
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": label });
  const floor = HEIGHT - BOTTOM;
  chart.append(
    svg("line", { x1: LEFT, x2: WIDTH, y1: floor, y2: floor }),
    svg("line", { x1: LEFT, x2: WIDTH, y1: TOP, y2: TOP }),
    written(LEFT - 6, floor, "0", "end"),
    written(LEFT - 6, TOP + 4, number(most), "end"),
  );
  pairs.forEach(([name, value], place) => {
    const high = (value / most) * (floor - TOP);
    const x = LEFT + place * step;
    const bar = { x: x + step * 0.1, y: floor - high, width: step * 0.8, height: high, rx: Math.min(3, step * 0.2) };
    const rect = svg("rect", bar);
    const title = svg("title", {});
    title.textContent = `${name}: ${number(value)}`;
    rect.append(title);
    chart.append(rect);
  });
  if (pairs.length) {
    chart.append(written(LEFT, HEIGHT - 6, pairs[0][0], "start"));
    if (pairs.length > 1) chart.append(written(WIDTH, HEIGHT - 6, pairs[pairs.length - 1][0], "end"));
  }
  return chart;
}

function written(x, y, text, anchor) {
  const made = svg("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function svg(tag, attributes) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
