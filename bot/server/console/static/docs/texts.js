// Texts of the documentation pages.

import { addTexts, sideBySide } from "../texts/texts.js";

export const texts = sideBySide({
  "docs.search": ["Search the documentation", "搜索文档"],
  "docs.all": ["All pages", "所有页面"],
  "docs.inEnglish": ["The pages are in English.", "页面内容为英文。"],
  "docs.tutorial": ["Tutorial", "教程"],
  "docs.howto": ["How-to guides", "操作指南"],
  "docs.reference": ["Reference", "参考"],
  "docs.about": ["About", "关于"],
});

addTexts(texts);
