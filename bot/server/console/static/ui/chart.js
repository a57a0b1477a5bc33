// Bars and stacked bars as SVG, with the same figures in a table.

import { html, nothing, svg } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import "./texts.js";

const GAP = 0.22;

/** The least round number that is not below a value. */
function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 2.5, 5, 10].map((one) => one * size).find((one) => one >= value) || 1;
}

/**
 * A chart of bars, stacked if a bar has several values.
 * @param {{label: string, series: string[], bars: {name: string, values: number[]}[], format: (value: number) => string, heading?: string}} chart
 */
export function barChart({ label, series, bars, format, heading = "" }) {
  const top = ceiling(Math.max(0, ...bars.map(({ values }) => values.reduce((sum, one) => sum + one, 0))));
  const bar = ({ name, values }, place) => {
    let below = 0;
    const words = values.map((value, at) => (value || values.length === 1 ? `${series.length > 1 ? `${series[at]}: ` : ""}${format(value)}` : "")).filter(Boolean);
    return svg`<g class="bar"><title>${[name, ...words].join("\n")}</title><rect class="catch" x=${place} y="0" width="1" height="100"></rect>
      ${values.map((value, at) => {
        const high = (value / top) * 100;
        below += high;
        return high ? svg`<rect class="series-${at % 6}" x=${place + GAP / 2} y=${100 - below} width=${1 - GAP} height=${high}></rect>` : nothing;
      })}</g>`;
  };
  const ticks = [1, 0.5, 0].map((part) => html`<span>${format(top * part)}</span>`);
  const ends = bars.length > 2 ? [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)] : bars;
  return html`<figure class="chart-box">
    <div class="chart-area"><div class="ticks" aria-hidden="true">${ticks}</div>
      <svg class="chart" role="img" aria-label=${label} viewBox="0 0 ${Math.max(bars.length, 1)} 100" preserveAspectRatio="none">${bars.map(bar)}</svg>
      <div class="chart-ends" aria-hidden="true">${ends.map(({ name }) => html`<span>${name}</span>`)}</div></div>
    ${series.length > 1 ? html`<ul class="legend">${series.map((name, at) => html`<li><span class="swatch series-${at % 6}"></span><span class="words">${name}</span></li>`)}</ul>` : nothing}
    <details><summary class="small fold">${t("chart.table")}</summary><div class="scrolls" tabindex="0" role="region" aria-label=${label}>
      <table class="figures"><thead><tr><th scope="col">${heading}</th>${series.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
        <tbody>${bars.filter(({ values }) => values.some(Boolean)).reverse().map(({ name, values }) => html`<tr><th scope="row">${name}</th>${values.map((value) => html`<td class="number">${format(value)}</td>`)}</tr>`)}</tbody></table></div></details>
  </figure>`;
}
