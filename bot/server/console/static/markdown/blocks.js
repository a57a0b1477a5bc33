// Splits a growing Markdown source into blocks of HTML, parsing only what may still change.

import { copyEnvironment, newEnvironment, parseBlocks, renderBlocks, renderNotes } from "./parser.js";

/** Return the length of the part of a growing source that what follows can't change. */
function settledLength(source) {
  const complete = source.slice(0, source.lastIndexOf("\n") + 1);
  const top = parseBlocks(complete, { ...newEnvironment(), growing: true }).filter((one) => one.level === 0 && one.map);
  // The last block may go on, and what looks like the end of an unfinished formula may be inside of it.
  const first = top.find((one) => one.type === "formula_source") ?? top.at(-1);
  if (!first || first.map[0] === 0) return 0;
  let at = 0;
  for (let line = 0; line < first.map[0]; line += 1) at = complete.indexOf("\n", at) + 1;
  return at;
}

/** The blocks of one message, by what is settled and what may still change. */
export class Blocks {
  constructor(id) {
    this.id = id;
    this.reset();
  }

  reset() {
    this.settled = "";
    this.html = [];
    this.env = newEnvironment();
    this.lineEnd = -1;
  }

  /** Return the HTML of each block; a settled one is the same string as before. A finished source is parsed anew. */
  update(source, isGrowing) {
    source = source.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");
    if (!isGrowing || !source.startsWith(this.settled)) this.reset();
    if (isGrowing) this.settle(source);
    const env = copyEnvironment(this.env);
    env.growing = isGrowing;
    const open = renderBlocks(parseBlocks(source.slice(this.settled.length), env), env);
    const notes = renderNotes(env, this.id);
    return [...this.html, ...open, ...(notes ? [notes] : [])];
  }

  settle(source) {
    const lineEnd = source.lastIndexOf("\n");
    if (lineEnd === this.lineEnd) return;
    this.lineEnd = lineEnd;
    const length = settledLength(source.slice(this.settled.length));
    if (!length) return;
    const part = source.slice(this.settled.length, this.settled.length + length);
    this.settled += part;
    let tokens = parseBlocks(part, this.env);
    // A definition may turn text further up into a link or a footnote.
    if (tokens.some(({ type }) => type === "reference_definition" || type === "footnote_reference_open")) {
      this.env = newEnvironment();
      this.html = [];
      tokens = parseBlocks(this.settled, this.env);
    }
    this.html.push(...renderBlocks(tokens, this.env));
  }
}
