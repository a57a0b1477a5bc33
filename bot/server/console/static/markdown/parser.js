// Markdown to HTML by blocks: CommonMark and GFM with footnotes, formulas, <details> and emphasis beside
// Chinese, Japanese and Korean characters. The HTML has no style and no handler, and still passes sanitize.js.

import { cjkFriendly, footnote, MarkdownIt } from "../vendor/markdown.js";
import { details, formulaBlock } from "./block-rules.js";
import { addHtml, balance, webAddress } from "./html.js";
import { findHalf, findOpaque } from "./opaque.js";

const MAX_DEPTH = 40; // of quotes and lists; deeper ones are text
const TERMINATES = ["paragraph", "reference", "blockquote", "list"];

const md = new MarkdownIt({ html: true, breaks: true, maxNesting: MAX_DEPTH + 40 }).use(cjkFriendly).use(footnote);
const { escapeHtml } = md.utils;

/** Return one of markdown-it's own block rules, to wrap it. */
function blockRule(name) {
  const fresh = new MarkdownIt().use(footnote);
  fresh.block.ruler.enableOnly([name]);
  return fresh.block.ruler.getRules("")[0];
}

function bounded(name) {
  const rule = blockRule(name);
  return (state, start, end, silent) => state.level < MAX_DEPTH && rule(state, start, end, silent);
}

/** The rule for a footnote's text, which also notes the lines. */
function note(state, start, end, silent) {
  const first = state.tokens.length;
  if (!defineNote(state, start, end, silent)) return false;
  if (!silent) state.tokens[first].map = [start, state.line];
  return true;
}
const defineNote = blockRule("footnote_def");

/** Inline state that knows the formulas, addresses and paths of its source. */
class State extends md.inline.State {
  constructor(source, parser, env, tokens) {
    super(source, parser, env, tokens);
    const found = findOpaque(source);
    const half = source && source === env.last ? findHalf(source) : -1;
    const last = found.findLastIndex(({ start }) => start <= half);
    if (half >= 0 && !(found[last]?.end > half))
      found.splice(last + 1, Infinity, { start: half, end: source.length, kind: "half" });
    this.opaque = new Map(found.map((one) => [one.start, one]));
    this.starts = found.map(({ start }) => start);
  }
}

const SPECIAL = /[\n!#$%&*+\-:<=>@[\\\]^_`{}~]/g;

/** Skip to the next special character or construct. */
function text(state, silent) {
  SPECIAL.lastIndex = state.pos;
  const special = SPECIAL.exec(state.src)?.index ?? state.posMax;
  const next = state.starts.find((start) => start > state.pos) ?? state.posMax;
  const end = Math.min(special, next, state.posMax);
  if (end <= state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, end);
  state.pos = end;
  return true;
}

/** Take a formula, an address or a path as it is; an address becomes a link. */
function opaque(state, silent) {
  const found = state.opaque.get(state.pos);
  if (!found || found.end > state.posMax) return false;
  const source = state.src.slice(found.start, found.end);
  if (!silent) {
    const prefix = source.startsWith("www.") ? "https://" : found.kind === "mail" ? "mailto:" : "";
    const links = (found.kind === "address" || found.kind === "mail") && !state.linkLevel;
    const href = links ? webAddress(md.normalizeLink(prefix + source)) : "";
    if (found.kind === "formula") state.push("formula", "", 0).content = source;
    else if (href) {
      state.push("link_open", "a", 1).attrs = [["href", href]];
      state.push("text", "", 0).content = source;
      state.push("link_close", "a", -1);
    } else state.pending += source;
  }
  state.pos = found.end;
  return true;
}

/** Read `[1][2]` as two citations if both are defined, as models mean it; in CommonMark it is one link. */
function citation(state, silent) {
  const found = /^\[(\d{1,3})\](?=\[(\d{1,3})\])/.exec(state.src.slice(state.pos, state.pos + 10));
  const target = found && state.env.references[found[1]];
  if (!target || !state.env.references[found[2]] || state.linkLevel) return false;
  if (!silent) {
    state.push("link_open", "a", 1).attrs = [["href", target.href]];
    state.push("text", "", 0).content = found[1];
    state.push("link_close", "a", -1);
  }
  state.pos += found[0].length;
  return true;
}

/** Finish the inline tokens of a block: links, images, tags, and the box of a task. */
function finishInline(token, previous) {
  balance(token.children);
  const open = [];
  for (const child of token.children) {
    if (child.type === "link_open") {
      const href = child.attrGet("href") ?? "";
      open.push(href);
      if (!webAddress(href)) child.type = "omitted";
    } else if (child.type === "link_close") {
      const href = open.pop();
      if (!webAddress(href)) Object.assign(child, { type: "text", content: href && ` (${href})` });
    } else if (child.type === "image" && open.length) child.type = "text";
  }
  const first = token.children[0];
  const task = previous?.type === "list_item_open" && first?.type === "text" && /^\[([ xX])\]\s/.exec(first.content);
  if (!task) return;
  first.content = first.content.slice(task[0].length);
  const box = new first.constructor("task", "", 0);
  box.meta = { isDone: task[1] !== " " };
  token.children.unshift(box);
}

/** Complete the block tokens: direction, alignment by class, and whether a fence is closed. */
function finish(state) {
  state.tokens.forEach((token, index) => {
    const before = state.tokens[index - 1];
    if (token.type === "inline") finishInline(token, state.tokens[index - 2]);
    else if (token.type === "paragraph_open") {
      // The direction of a list item is that of its first paragraph.
      if (before?.type !== "list_item_open") token.attrSet("dir", "auto");
    } else if (/^(?:heading|list_item|table|summary)_open$/.test(token.type)) token.attrSet("dir", "auto");
    else if (token.type === "th_open" || token.type === "td_open") {
      const align = /text-align:(\w+)/.exec(token.attrGet("style") ?? "");
      token.attrs = align ? [["class", `align-${align[1]}`]] : null;
    } else if (token.type === "fence") {
      const lines = token.content.split("\n").length - (token.content === "" || token.content.endsWith("\n") ? 1 : 0);
      token.meta = { isOpen: token.map[1] - token.map[0] < lines + 2 };
    }
  });
}

function codeBlock(tokens, index, _options, env) {
  const { content, info, meta } = tokens[index];
  const language = (info.trim().split(/[\s:,{]/)[0] ?? "").replace(/[^\w+#.-]/g, "").toLowerCase();
  if (language === "math" && !meta?.isOpen) return `<div class="math display">${escapeHtml(content.trim())}</div>`;
  const classes = [language && `language-${language}`, meta?.isOpen && env.growing && "open"].filter(Boolean).join(" ");
  return `<pre><code${classes ? ` class="${classes}"` : ""}>${escapeHtml(content.replace(/\n$/, ""))}</code></pre>`;
}

Object.assign(md.renderer.rules, {
  fence: codeBlock,
  code_block: codeBlock,
  omitted: () => "",
  formula: (tokens, index) => {
    const { content } = tokens[index];
    const isDisplay = !/^(?:\$(?!\$)|\\\()/.test(content);
    return `<span class="math${isDisplay ? " display" : ""}">${escapeHtml(content)}</span>`;
  },
  formula_block: (tokens, index) => `<div class="math display">${escapeHtml(tokens[index].content)}</div>`,
  formula_source: (tokens, index) => `<p class="source">${escapeHtml(tokens[index].content)}</p>`,
  task: (tokens, index) => `<span class="task${tokens[index].meta.isDone ? " done" : ""}"></span>`,
  footnote_ref: (tokens, index) => `<sup class="note-ref">${tokens[index].meta.id + 1}</sup>`,
  image: (tokens, index) => {
    const token = tokens[index];
    const address = webAddress(token.attrGet("src"));
    const label = escapeHtml(token.content);
    return address.startsWith("http") ? `<a class="image" href="${escapeHtml(address)}">${label}</a>` : label;
  },
  link_open: (tokens, index) => {
    const href = tokens[index].attrGet("href");
    const label = tokens[index + 1].type === "link_close" ? escapeHtml(href) : "";
    return `<a href="${escapeHtml(href)}">${label}`;
  },
});
addHtml(md);
md.inline.State = State;
md.inline.ruler.at("text", text);
md.inline.ruler.before("text", "opaque", opaque);
md.inline.ruler.before("link", "citation", citation);
md.inline.ruler.disable(["linkify", "footnote_inline"]);
md.block.ruler.at("blockquote", bounded("blockquote"), { alt: TERMINATES });
md.block.ruler.at("list", bounded("list"), { alt: TERMINATES.slice(0, 3) });
md.block.ruler.at("footnote_def", note, { alt: ["paragraph", "reference"] });
md.block.ruler.before("table", "formula_block", formulaBlock, { alt: TERMINATES });
md.block.ruler.before("html_block", "details", details(MAX_DEPTH), { alt: TERMINATES });
md.core.ruler.disable(["normalize", "block", "linkify", "replacements", "smartquotes", "footnote_tail"]);
md.core.ruler.push("finish", finish);

/** Return an empty environment: the definitions of links and footnotes, and the footnotes in use. */
export function newEnvironment() {
  return { references: {}, footnotes: { refs: {}, list: [] }, texts: {}, growing: false, last: "" };
}

/** Return a copy that can be changed independently. */
export function copyEnvironment(env) {
  const { refs, list } = env.footnotes;
  const footnotes = { refs: { ...refs }, list: list.map((one) => ({ ...one })) };
  return { ...env, references: { ...env.references }, texts: { ...env.texts }, footnotes };
}

/** Return the block tokens of a source, with line numbers; the environment takes its definitions. */
export function parseBlocks(source, env) {
  const tokens = [];
  md.block.parse(source, md, env, tokens);
  return tokens;
}

/** Render block tokens: one string of HTML for each block at the top; footnotes go into the environment. */
export function renderBlocks(tokens, env) {
  const groups = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) groups.push([]);
    groups.at(-1).push(token);
  }
  const shown = [];
  for (const group of groups) {
    if (group[0].type === "footnote_reference_open") env.texts[`:${group[0].meta.label}`] = group.slice(1, -1);
    else if (group[0].type !== "reference_definition") shown.push(group);
  }
  env.last = tokens.findLast(({ type }) => type === "inline")?.content ?? "";
  return shown.map((group) => render(group, env));
}

/** Render the footnotes in use, or "" if there are none; `id` makes their ids unique in the page. */
export function renderNotes(env, id) {
  const items = [];
  // The list may grow while the text of a footnote is rendered.
  for (let number = 0; number < env.footnotes.list.length; number += 1) {
    const tokens = env.texts[`:${env.footnotes.list[number].label}`] ?? [];
    items.push(`<li id="${id}-note-${number + 1}" dir="auto">${render(tokens, env)}</li>`);
  }
  return items.length ? `<section class="notes"><ol>${items.join("")}</ol></section>` : "";
}

function render(tokens, env) {
  const state = new md.core.State("", md, env);
  for (const token of tokens) if (token.type === "inline") token.children = [];
  state.tokens = tokens;
  md.core.process(state);
  return md.renderer.render(state.tokens, md.options, env);
}
