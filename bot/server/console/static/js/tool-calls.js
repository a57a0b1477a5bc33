// Tool calls and token usage of a turn.

import { el } from "./dom.js";
import { cost, duration, NOTHING, number } from "./format.js";
import { badge, table } from "./components.js";

const OUTCOMES = { done: ["done", "good"], failed: ["failed", "bad"], active: ["no result", "warn"] };
const HEADS = ["Tool", "Arguments", "Result", "Duration"];

/** Return the collapsed tool calls of a turn, null if there are none. */
export function toolCalls(turn) {
  const calls = turn.steps.filter((step) => step.kind !== "todo");
  if (!calls.length) return null;
  const rows = calls.map((step) => [
    step.tool,
    step.arguments || NOTHING,
    el("span", {}, badge(...(OUTCOMES[step.state] || [step.state])), ` ${step.result}`),
    duration(step.seconds),
  ]);
  const shown = table(`Tool calls of turn ${turn.id}`, HEADS, rows);
  return el("details", { id: `steps-${turn.id}` }, el("summary", {}, `Tool calls: ${rows.length}`), shown);
}

/** Format the tokens of a turn. */
export function tokens(usage) {
  if (!usage) return NOTHING;
  const cached = usage.cached_tokens ? ` (${number(usage.cached_tokens)} cached)` : "";
  const price = usage.cost ? `, cost: ${cost(usage)}` : "";
  return `${number(usage.input_tokens)} in${cached}, ${number(usage.output_tokens)} out${price}`;
}
