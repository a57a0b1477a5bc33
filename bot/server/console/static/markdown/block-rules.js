// Block rules for markdown-it: formulas that stand alone, and <details> with Markdown inside.

const line = (state, number) => state.src.slice(state.bMarks[number] + state.tShift[number], state.eMarks[number]);

const isOutside = (state, number) => !state.isEmpty(number) && state.sCount[number] < state.blkIndent;

/** Take `$$…$$`, `\[…\]` and `\begin{…}…\end{…}` on lines of their own; unfinished ones are shown as source. */
export function formulaBlock(state, start, end, silent) {
  if (state.sCount[start] - state.blkIndent >= 4) return false;
  const opening = /^(?:\$\$|\\\[|\\begin\{([a-z]{1,20}\*?)\})/.exec(line(state, start));
  if (!opening) return false;
  const closing = opening[1] ? `\\end{${opening[1]}}` : opening[0] === "$$" ? "$$" : "\\]";
  const rest = line(state, start).slice(opening[0].length).trim();
  const isAlone = !rest && !opening[1];
  // More text behind the formula: a paragraph, whose inline rules find it.
  if (rest.includes(closing) && !rest.endsWith(closing)) return false;
  let last = start;
  let isClosed = rest.endsWith(closing);
  while (!isClosed && last + 1 < end && !isOutside(state, last + 1)) {
    if (state.isEmpty(last + 1) && !isAlone) break;
    last += 1;
    isClosed = line(state, last).trimEnd().endsWith(closing);
  }
  if (!isClosed) {
    if (opening[0] === "$$" && !isAlone && !state.env.growing) return false;
    for (last = start; last + 1 < end && !isOutside(state, last + 1) && !state.isEmpty(last + 1); ) last += 1;
  }
  if (silent) return isClosed || isAlone;
  const token = state.push(isClosed ? "formula_block" : "formula_source", "", 0);
  token.content = state.getLines(start, last + 1, state.blkIndent, false).trim();
  token.map = [start, last + 1];
  state.line = last + 1;
  return true;
}

/** Find the tag that closes a <details>: {line, at, after}, or the line where the text ends. */
function findClosing(state, start, end) {
  let depth = 0;
  let fence = "";
  let number = start;
  for (; number < end && (number === start || !isOutside(state, number)); number += 1) {
    const text = line(state, number);
    const mark = /^(?:`{3,}|~{3,})/.exec(text)?.[0] ?? "";
    if (fence ? mark.startsWith(fence) : mark) fence = fence ? "" : mark;
    if (fence) continue;
    for (const tag of text.matchAll(/<(\/?)details(?=[\s>])[^>]*>/gi)) {
      depth += tag[1] ? -1 : 1;
      const at = state.bMarks[number] + state.tShift[number] + tag.index;
      if (depth === 0) return { line: number, at, after: at + tag[0].length };
    }
  }
  return { line: number, at: -1, after: -1 };
}

/** Create the rule for <details> with its <summary>; without an end it reaches to the end of the text. */
export function details(maxDepth) {
  return (state, start, end, silent) => {
    if (state.sCount[start] - state.blkIndent >= 4 || state.level >= maxDepth) return false;
    const opening = /^<details(\s[^>]*)?>/i.exec(line(state, start));
    if (!opening) return false;
    if (silent) return true;
    const closing = findClosing(state, start, end);
    const isClosed = closing.at >= 0;
    const from = state.bMarks[start] + state.tShift[start] + opening[0].length;
    const token = state.push("details_open", "details", 1);
    token.map = [start, isClosed ? closing.line + 1 : closing.line];
    const summary = findSummary(state, from, start, token.map[1]);
    if (/\sopen(?=[\s=]|$)/i.test(opening[1] ?? "")) token.attrs = [["open", ""]];
    push(state, "summary", summary.text);
    tokenizeBody(state, summary.line, summary.after, closing);
    state.push("details_close", "details", -1);
    state.line = token.map[1];
    const rest = isClosed ? state.src.slice(closing.after, state.eMarks[closing.line]).trim() : "";
    if (rest) push(state, "paragraph", rest).map = token.map;
    return true;
  };
}

/** Find the <summary>, a line at most, and where the rest begins. */
function findSummary(state, from, start, end) {
  const isNext = !state.src.slice(from, state.eMarks[start]).trim() && start + 1 < end;
  const number = isNext ? start + 1 : start;
  const at = isNext ? state.bMarks[number] + state.tShift[number] : from;
  const found = /^\s*<summary(?:\s[^>]*)?>(.*?)(?:<\/summary\s*>|$)/i.exec(state.src.slice(at, state.eMarks[number]));
  return found ? { text: found[1], line: number, after: at + found[0].length } : { text: "", line: start, after: from };
}

function push(state, type, content) {
  const tag = type === "paragraph" ? "p" : type;
  const opening = state.push(`${type}_open`, tag, 1);
  const inline = state.push("inline", "", 0);
  Object.assign(inline, { content: content.trim(), children: [] });
  state.push(`${type}_close`, tag, -1);
  return opening;
}

/** Parse the Markdown from a position to the closing tag, which may both be in the middle of a line. */
function tokenizeBody(state, first, from, closing) {
  const isClosed = closing.at >= 0;
  const end = isClosed ? closing.line + 1 : closing.line;
  const before = [state.bMarks[first], state.tShift[first], state.sCount[first]];
  const { lineMax, parentType } = state;
  const endMark = state.eMarks[end - 1];
  state.bMarks[first] = from;
  state.tShift[first] = state.skipSpaces(from) - from;
  state.sCount[first] = state.blkIndent;
  if (isClosed) state.eMarks[end - 1] = Math.max(closing.at, from);
  state.lineMax = end;
  state.parentType = "root";
  state.md.block.tokenize(state, first, end);
  Object.assign(state, { lineMax, parentType });
  state.eMarks[end - 1] = endMark;
  [state.bMarks[first], state.tShift[first], state.sCount[first]] = before;
}
