// Texts of the console in the person's language.

import en from "./en.js";
import zh from "./zh.js";

const KEY = "roebot.language";
const chosen = localStorage.getItem(KEY);

/** The language of the console: the person's choice, then that of the service for them. */
export const language = chosen === "en" || chosen === "zh" ? chosen : document.documentElement.lang.startsWith("zh") ? "zh" : "en";
document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";

export const LANGUAGES = { en: "English", zh: "中文" };
const texts = { en: { ...en }, zh: { ...zh } };

/** Add the texts of a page: `{en: {key: text}, zh: {key: text}}`. */
export function addTexts(more) {
  Object.assign(texts.en, more.en);
  Object.assign(texts.zh, more.zh);
}

/** Choose a language ("" for the browser's) and reload the page in it. */
export function chooseLanguage(name) {
  if (name) localStorage.setItem(KEY, name);
  else localStorage.removeItem(KEY);
  location.reload();
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
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/**
 * Split texts that stand side by side, as `{key: [English, Chinese]}`.
 * @param {Record<string, [string, string]>} pairs
 */
export function sideBySide(pairs) {
  const column = (at) => Object.fromEntries(Object.entries(pairs).map(([key, both]) => [key, both[at]]));
  return { en: column(0), zh: column(1) };
}
