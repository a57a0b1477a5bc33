// Texts of the console in the person's language.

import en from "./en.js";
import zh from "./zh.js";

/** The language that the service chose for the page: the person's own, or else the browser's. */
export const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en";

export const LANGUAGES = { en: "English", zh: "中文" };
const texts = { en: { ...en }, zh: { ...zh } };

/** Add the texts of a page: `{en: {key: text}, zh: {key: text}}`. */
export function addTexts(more) {
  Object.assign(texts.en, more.en);
  Object.assign(texts.zh, more.zh);
}

const plurals = new Intl.PluralRules(language);

/**
 * Return the text of a key with its `{values}`. A key with a `count` has a variant `key.one` where the language needs it.
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 */
export function t(key, values = {}) {
  const single = "count" in values && plurals.select(Number(values.count)) === "one" && texts[language][`${key}.one`];
  const text = single || texts[language][key];
  if (text === undefined) throw new Error(`no text ${key}`);
  return text.replace(/( ?)\{(\w+)\}( ?)/g, (_, before, name, after) => {
    const value = String(values[name] ?? "");
    // In Chinese, a space sets off other scripts only.
    const gap = (space, edge) => (language === "zh" && edge.test(value) ? "" : space);
    return gap(before, /^\p{sc=Han}/u) + value + gap(after, /\p{sc=Han}$/u);
  });
}

/**
 * Split texts that stand side by side, as `{key: [English, Chinese]}`.
 * @param {Record<string, [string, string]>} pairs
 */
export function sideBySide(pairs) {
  const column = (at) => Object.fromEntries(Object.entries(pairs).map(([key, both]) => [key, both[at]]));
  return { en: column(0), zh: column(1) };
}
