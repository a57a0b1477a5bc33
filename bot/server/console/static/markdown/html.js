// Raw HTML in Markdown: an allow list of tags without attributes; every other tag is text.

/** Return an address that a link may have: web, mail or a page of the console; "" for any other. */
export function webAddress(href) {
  return /^(?:https?:\/\/[^/]|mailto:[^/])/i.test(href) || /^#\/[\w/.-]*$/.test(href) ? href : "";
}

const INLINE = "abbr b bdi cite code del dfn em i ins kbd li mark ol q rp rt ruby s samp small strong sub sup u ul var";
const BLOCK =
  "blockquote caption col colgroup dd details dl dt h1 h2 h3 h4 h5 h6 hr pre summary table tbody td tfoot th thead tr";
const ALLOWED = new Set(`${INLINE} ${BLOCK}`.split(" "));
// Tags that only arrange or colour: their content is shown without them.
const TRANSPARENT = new Set("article big center div figcaption figure font footer header main nav p section span tt".split(" "));
const VOID = new Set(["br", "col", "hr", "img", "wbr"]);
const TAG = /<(\/?)([a-z][a-z0-9-]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*\/?>/gi;
const ONE_TAG = new RegExp(`^(?:${TAG.source})$`, "i");
const BLOCK_START = /^<\/?(?:blockquote|dl|h[1-6]|hr|ol|pre|table|ul)(?=[\s/>]|$)/i;

/** Return the value of an attribute of a tag, or "". */
function attribute(attributes, name) {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'=<>\`]+))`, "i").exec(attributes);
  return found ? (found[1] ?? found[2] ?? found[3]) : "";
}

/** Return a tag as {name, closing, attributes}; null for a comment, a declaration or broken markup. */
function readTag(source) {
  const found = ONE_TAG.exec(source);
  if (!found) return null;
  return { name: found[2].toLowerCase(), closing: found[1] === "/", attributes: found[3] };
}

function renderTag(md, source) {
  const { escapeHtml, unescapeAll } = md.utils;
  const tag = readTag(source);
  if (!tag) return escapeHtml(source);
  const { name, closing, attributes } = tag;
  if (TRANSPARENT.has(name)) return "";
  if (name === "br" || name === "wbr") return closing ? "" : `<${name}>`;
  if (name === "a") {
    const address = webAddress(md.normalizeLink(unescapeAll(attribute(attributes, "href"))));
    return closing ? "</a>" : address ? `<a href="${escapeHtml(address)}">` : "<a>";
  }
  if (name === "img") {
    const address = webAddress(md.normalizeLink(unescapeAll(attribute(attributes, "src"))));
    const label = escapeHtml(unescapeAll(attribute(attributes, "alt")));
    return address.startsWith("http") ? `<a class="image" href="${escapeHtml(address)}">${label}</a>` : label;
  }
  if (!ALLOWED.has(name)) return escapeHtml(source);
  const spans = ["colspan", "rowspan"].map((key) => [key, attribute(attributes, key)]);
  const kept = spans.filter(([, value]) => /^[1-9]\d?$/.test(value)).map(([key, value]) => ` ${key}="${value}"`);
  return closing ? `</${name}>` : `<${name}${kept.join("")}>`;
}

/** Turn tags without a partner in the same paragraph into text, since they would reach beyond it. */
export function balance(children) {
  const open = [];
  const lonely = new Set();
  for (const token of children) {
    const tag = token.type === "html_inline" ? readTag(token.content) : null;
    if (!tag || TRANSPARENT.has(tag.name) || VOID.has(tag.name)) continue;
    if (!ALLOWED.has(tag.name) && tag.name !== "a") continue;
    const partner = open.findLastIndex(({ name }) => name === tag.name);
    if (!tag.closing) open.push({ name: tag.name, token });
    else if (partner < 0) lonely.add(token);
    else for (const other of open.splice(partner).slice(1)) lonely.add(other.token);
  }
  for (const { token } of open) lonely.add(token);
  for (const token of lonely) token.type = "text";
}

/** Teach a markdown-it instance which HTML it reads. */
export function addHtml(md) {
  md.renderer.rules.html_inline = (tokens, index) => renderTag(md, tokens[index].content);
  md.renderer.rules.html_block = (tokens, index) => {
    const source = tokens[index].content;
    let at = 0;
    let out = "";
    // Character references stay what they are; every other "<" is text.
    const text = (end) => source.slice(at, end).replaceAll("<", "&lt;");
    for (const found of source.matchAll(TAG)) {
      out += text(found.index) + renderTag(md, found[0]);
      at = found.index + found[0].length;
    }
    return out + text(source.length);
  };
  md.block.ruler.at("html_block", htmlBlock, { alt: ["paragraph", "reference", "blockquote"] });
}

function htmlBlock(state, start, end, silent) {
  const at = (line) => state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
  if (state.sCount[start] - state.blkIndent >= 4 || !BLOCK_START.test(at(start))) return false;
  if (silent) return true;
  let next = start + 1;
  const isPre = /^<pre[\s>]/i.test(at(start));
  const isDone = (line) => (isPre ? /<\/pre>/i.test(at(line - 1)) : state.isEmpty(line));
  while (next < end && !isDone(next) && (state.isEmpty(next) || state.sCount[next] >= state.blkIndent)) next += 1;
  state.line = next;
  const token = state.push("html_block", "", 0);
  token.map = [start, next];
  token.content = state.getLines(start, next, state.blkIndent, true);
  return true;
}
