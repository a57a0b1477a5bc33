// The trace of a turn: each part of its work as a bar on one time axis, with its details.

import { html, nothing, repeat } from "../vendor/lit.js";
import { t } from "../texts/texts.js";
import { dateTime, duration, money, number, short } from "../ui/format.js";
import { icon } from "../ui/icon.js";
import "./texts.js";

const GLYPHS = { message: "message-square", queue: "clock", run: "play", model: "sparkles", tool: "wrench", subagent: "bot", approval: "shield-check", delivery: "send" };
const NUMBERS = ["input_tokens", "cached_tokens", "output_tokens", "total_tokens", "attempt", "characters"];
/** Details that are shown as text, in this order. */
const TEXTS = ["error", "title", "text", "arguments", "result"];
const LEFT_OUT = new Set([...NUMBERS, ...TEXTS, "cost", "currency", "run", "kind"]);
// The wait for an approval may take days; the axis ends soon after the work.
const MARGIN = 1.25;
/** Distances between the times on the axis, in seconds. */
const DISTANCES = [1, 2, 5].flatMap((one) => [0.001, 0.01, 0.1, 1].map((unit) => one * unit)).concat([15, 30, 60, 120, 300, 600, 1800, 3600, 10800, 43200, 86400]).sort((a, b) => a - b);
const MOST_TIMES = 5;

const lasts = (span, end) => Math.max(0, (span.end ?? (span.state === "active" ? end : span.begin)) - span.begin);

/** Order spans as a tree, each followed by its children; returns `[span, depth]`. */
function ordered(spans) {
  const ids = new Set(spans.map(({ id }) => id));
  const below = new Map();
  for (const span of spans) {
    const parent = ids.has(span.parent) ? span.parent : "";
    below.set(parent, [...(below.get(parent) || []), span]);
  }
  const walk = (parent, depth) => (below.get(parent) || []).flatMap((span) => [[span, depth], ...walk(span.id, depth + 1)]);
  return walk("", 0);
}

/** The span that explains a failure: the deepest failed one, the last if there are several. */
export function cause(trace) {
  const failed = ordered(trace.spans).filter(([span]) => span.state === "failed");
  const deepest = Math.max(...failed.map(([, depth]) => depth));
  return failed.findLast(([, depth]) => depth === deepest)?.[0] ?? null;
}

/** The times of an axis of `size` seconds: round ones, at most five. */
function times(size) {
  const distance = DISTANCES.find((one) => size / one <= MOST_TIMES) ?? size / MOST_TIMES;
  return Array.from({ length: Math.ceil(size / distance) }, (_, at) => at * distance);
}

/** Tokens and cost of a model call, in short. */
function figures({ detail }) {
  const cost = detail.cost && detail.currency ? money(detail.cost, detail.currency) : "";
  return [detail.total_tokens ? t("span.tokens", { tokens: short(detail.total_tokens) }) : "", cost].filter(Boolean).join(" · ");
}

function label(span) {
  const name = span.detail.title || span.name;
  const kind = t(`span.kind.${span.kind}`);
  if (["model", "tool", "subagent"].includes(span.kind) && name) return name;
  return name && span.kind !== "run" ? `${kind} · ${name}` : kind;
}

function row([span, depth], { begin, end, size, shown }, main) {
  const long = lasts(span, end);
  const from = Math.min(99.5, ((span.begin - begin) / size) * 100);
  const width = Math.min(100 - from, (long / size) * 100);
  const known = span.end !== null || span.state === "active";
  return html`<details class="span ${span.state} ${span === main ? "main" : ""}" ?open=${span === main}>
    <summary>
      <span class="span-name" .style=${`--depth:${Math.min(depth, 4)}`}>${icon(GLYPHS[span.kind] || "circle-dot")}<span class="cut" title=${label(span)}>${label(span)}</span>
        ${span.state === "failed" ? html`<span class="badge bad">${t("span.failed")}</span>` : nothing}${span.detail.attempt > 1 ? html`<span class="badge">${t("span.tries", { count: span.detail.attempt })}</span>` : nothing}
        <span class="span-figures">${figures(span)}</span></span>
      <span class="span-axis" .style=${`--from:${from}%;--size:${width}%`}><span class="span-bar kind-${span.kind}"></span><span class="span-time ${width > 30 ? "inside" : from + width > 75 ? "before" : ""}">${known ? duration(long) : ""}</span></span>
    </summary>
    <div class="span-detail stack">${details(span, end, shown)}</div>
  </details>`;
}

function details(span, end, shown) {
  const { detail } = span;
  const facts = [
    [t("span.begin"), dateTime(span.begin)],
    [t("span.duration"), span.end === null ? t(span.state === "active" ? "span.active" : "span.unknown") : duration(lasts(span, end))],
    ...NUMBERS.filter((key) => detail[key]).map((key) => [t(`span.${key}`), number(detail[key])]),
    ...(detail.cost ? [[t("turn.cost"), detail.currency ? money(detail.cost, detail.currency) : number(detail.cost)]] : []),
    ...Object.entries(detail).filter(([key]) => !LEFT_OUT.has(key)).map(([key, value]) => [key.replaceAll("_", " "), String(value)]),
  ];
  const text = (key) => html`<div><h4 class="small quiet">${t(`span.${key}`)}</h4><pre class="code" tabindex="0">${detail[key]}</pre></div>`;
  return html`${TEXTS.filter((key) => detail[key] && detail[key] !== shown).map((key) => (key === "error" ? html`<p class="problem">${detail.error}</p>` : text(key)))}
    <dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** The waterfall of a trace, without an error (`known`) that is shown above; `now` (s) is the end of what still lasts. */
export function waterfall(trace, known = "", now = Date.now() / 1000) {
  const end = trace.end ?? now;
  const ends = trace.spans.filter(({ kind }) => kind !== "approval").map((span) => span.begin + lasts(span, end));
  const work = Math.max(...ends, trace.begin) - trace.begin;
  const size = Math.max(0.001, Math.min(end - trace.begin, work * MARGIN) || work);
  const main = cause(trace);
  const marks = times(size);
  const distance = marks.length > 1 ? (marks[1] / size) * 100 : 100;
  return html`<div class="trace" role="group" aria-label=${t("turn.trace")} .style=${`--distance:${distance}%`}>
      <div class="trace-head" aria-hidden="true"><span></span><span class="trace-times">${marks.filter((at) => at / size < 0.93).map((at) => html`<span .style=${`--from:${(at / size) * 100}%`}>${at ? duration(at) : "0"}</span>`)}</span></div>
      ${repeat(ordered(trace.spans), ([span]) => span.id, (entry) => row(entry, { begin: trace.begin, end, size, shown: known }, main))}
    </div>
    ${trace.truncated ? html`<p class="hint">${t("trace.truncated")}</p>` : nothing}`;
}
