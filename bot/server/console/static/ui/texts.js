// Texts of the shared elements.

import { addTexts, sideBySide } from "../texts/texts.js";

export const texts = sideBySide({
  "picker.required": ["Choose an entry of the list.", "请从列表中选择一项。"],
  "picker.useId": ["Use this ID", "使用此 ID"],
  "names.unknown": ["Unnamed on {platform}", "{platform} 上的未命名用户"],
  "chart.table": ["Show as table", "以表格显示"],
  "list.clear": ["Clear filters", "清除筛选"],
  "list.actions": ["Actions", "操作"],
});

addTexts(texts);
