// Finds what Markdown must not touch: formulas, addresses, e-mail addresses, paths. The rules are those of
// bot/render/opaque.py, so that every platform takes the same text for a formula or a link.

const CJK = "\\u3005\\u3041-\\u30fa\\u30fc-\\u318e\\u3400-\\u9fff\\uac00-\\ud7a3";
const URL_TEXT =
  "(?<![A-Za-z0-9+.-])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|mailto:|www\\.(?=[\\w-]+\\.))" +
  "(?:[!#$%&'()*+,./0-9:;=?@A-Z_a-z~-]|[\\u00a1-\\u00aa\\u00ac-\\u00ba\\u00bc-\\u10ff]" +
  `|(?<=[/=&#?])[${CJK}]|(?<=[${CJK}])[${CJK}]|(?<=[${CJK}]_)[${CJK}])+`;
const MAIL = "(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+";
const PATH =
  "(?<![A-Za-z0-9/.:~\\\\$%@<-])(?:(?:[A-Za-z]:\\\\|\\\\\\\\(?=[\\w.-]+\\\\\\w))[A-Za-z0-9_.@%+=:,~#*?{}$\\\\/-]*" +
  "|(?:(?:~|\\.{1,2})?/(?=[\\w.*])|(?<!_)[A-Za-z0-9_.@-]+/(?=[\\w.*]))[A-Za-z0-9_.@%+=:,~#*?{}$/-]*)";
const MODULE = "(?<![\\w*.])__?[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__?\\.[A-Za-z][A-Za-z0-9]{0,5}(?![\\w*])";
const FORMULA =
  "(?<![\\\\$])\\$\\$(?:\\\\.|[^\\\\$`]){1,3000}\\$\\$(?!\\$)" +
  "|(?<![\\\\$A-Za-z0-9_])\\$(?![\\s$])(?:\\\\.|[^\\\\$`\\n]){0,500}(?<![\\s\\\\])\\$(?![A-Za-z0-9_$])" +
  "|(?<!\\\\)\\\\\\((?:\\\\[^()[\\]]|[^\\\\`]){1,1000}\\\\\\)" +
  "|(?<!\\\\)\\\\\\[(?:\\\\[^()[\\]]|[^\\\\`]){1,3000}\\\\\\](?!\\()" +
  "|(?<!\\\\)\\\\begin\\{(?<environment>[a-z]{1,20}\\*?)\\}[^`]{1,3000}?\\\\end\\{\\k<environment>\\}";
const FOUND = new RegExp(
  `(?<formula>${FORMULA})|(?<url>${URL_TEXT})|(?<mail>${MAIL})|(?<path>${PATH})|(?<module>${MODULE})`,
  "gs",
);
const HALF_FORMULA = new RegExp(
  "(?:(?<![\\\\$A-Za-z0-9_])\\$(?![\\s\\d$])|(?<!\\\\)\\\\\\()(?<short>(?:\\\\[^)]|[^\\\\$`\\n])*\\\\?)$" +
    "|(?:(?<![\\\\$])\\$\\$(?!\\$)|(?<!\\\\)\\\\\\[)(?:\\\\[^\\]]|[^\\\\$`\\n]|\\n(?!\\s*\\n))*[\\\\$]?$" +
    "|(?<!\\\\)\\\\begin\\{(?:(?!\\\\end\\{)(?:[^`\\n]|\\n(?!\\s*\\n)))*(?:\\\\end\\{[a-z]*\\*?)?$",
  "s",
);
const LONGEST_HALF = 2000;
const HINT = /[$\\/@]|www\.|mailto:|_\./;
const HOST = /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|mailto:|www\.|[A-Za-z0-9_.+-]+@)[\w\u0080-\uffff[/]/;
const MATHEMATICAL = /\\[A-Za-z,;:! {}|]|[\^_{}=<>+]|\\\\/;
const WORDS = new RegExp(`[A-Za-z]{3,}\\s|\\s[A-Za-z]{3,}|[${CJK}]`);
const GLOB = /(?:^|\/)\*{1,2}(?:\/|\.\w|$)|\/[\w.-]*\*[\w.-]*\.\w+$/;

/** Return the constructs of a paragraph's source as {start, end, kind}, in order; none overlaps another. */
export function findOpaque(text) {
  const all = [];
  if (!HINT.test(text)) return all;
  FOUND.lastIndex = 0;
  for (let found; (found = FOUND.exec(text)); ) {
    const { formula, path, module, url } = found.groups;
    const start = found.index;
    let end = start;
    let kind = "name";
    if (formula) [kind, end] = ["formula", isFormula(formula) ? start + formula.length : start];
    else if (module) end = start + module.length;
    else {
      const kept = trimEnd(found[0], openMarks(text, start));
      if (path ? isPath(kept) : HOST.test(kept)) end = start + kept.length;
      if (!path) kind = url ? "address" : "mail";
    }
    if (end > start) all.push({ start, end, kind });
    FOUND.lastIndex = end > start ? end : formula ? start + 1 : start + found[0].length;
  }
  return all;
}

/** Return where a formula begins that the end of the text is inside of, or -1. */
export function findHalf(text) {
  const shift = Math.max(0, text.length - LONGEST_HALF);
  const found = HINT.test(text) ? HALF_FORMULA.exec(text.slice(shift)) : null;
  const prose = found?.groups.short?.replace(/\\[A-Za-z]+/g, "");
  return found && !(prose && WORDS.test(prose)) ? found.index + shift : -1;
}

/** Return which emphasis is open at a position, by counting its delimiters. */
function openMarks(text, position) {
  const passed = text.slice(0, position);
  const open = ["**", "~~"].filter((mark) => passed.split(mark).length % 2 === 0);
  return /[*_]$/.test(passed) ? [...open, passed.at(-1)] : open;
}

/** Cut what belongs to the text around an address: punctuation, brackets, and the end of emphasis. */
function trimEnd(source, marks) {
  for (const mark of marks) {
    const cut = source.indexOf(mark);
    if (cut > 0) source = source.slice(0, cut);
  }
  const count = (sign) => source.split(sign).length - 1;
  const counts = { "*": count("*"), _: count("_"), "~": count("~"), ")": count(")") - count("(") };
  let end = source.length;
  for (; end; end -= 1) {
    const last = source[end - 1];
    if (!"?!.,:;'".includes(last) && !(last === ")" ? counts[last] > 0 : (counts[last] ?? 0) % 2)) break;
    if (last in counts) counts[last] -= 1;
  }
  return source.slice(0, end);
}

function isPath(path) {
  if (!/[_*\\~]/.test(path)) return false;
  if (/^(?:[A-Za-z]:\\|\\\\)/.test(path)) return true;
  if (path.includes("*") && (/\*\*?[^/*]+\*/.test(path) || !GLOB.test(path))) return false;
  return /^(?:\/|\.\.?\/|~\/)/.test(path) || path.split("/").length > 2 || /\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(path);
}

/** Tell a formula from prose between prices or brackets. */
function isFormula(source) {
  if (source.startsWith("\\begin") || source.startsWith("$$")) return true;
  const inner = source[0] === "$" ? source.slice(1, -1) : source.slice(2, -2);
  if (inner.split("{").length !== inner.split("}").length) return false;
  if (/\\[A-Za-z]/.test(inner)) return true;
  // A half-open interval is a formula; "$5 (or 6$" is none.
  if (inner.split("(").length !== inner.split(")").length && !/^[[(].*[\])]$/.test(inner)) return false;
  if (WORDS.test(inner)) return false;
  const mathematical = MATHEMATICAL.test(inner);
  if (source.startsWith("\\[")) return mathematical || source.includes("\n");
  return mathematical || !/^\d.*\s/.test(inner);
}
