// The texts of rendered messages.

export const en = {
  "markdown.back": "Back to the text",
  "markdown.code": "Code",
  "markdown.copied": "Copied",
  "markdown.copy": "Copy",
  "markdown.copy_failed": "Copy failed",
  "markdown.details": "Details",
  "markdown.diagram": "Diagram",
  "markdown.done": "Done",
  "markdown.footnote": "Footnote",
  "markdown.image": "Open image from",
  "markdown.no_diagram": "Can't be drawn",
  "markdown.not_done": "Not done",
  "markdown.show_source": "Show source",
  "markdown.table": "Table",
  "markdown.wrap": "Wrap",
};

export const zh = {
  "markdown.back": "返回正文",
  "markdown.code": "代码",
  "markdown.copied": "已复制",
  "markdown.copy": "复制",
  "markdown.copy_failed": "复制失败",
  "markdown.details": "详情",
  "markdown.diagram": "图示",
  "markdown.done": "已完成",
  "markdown.footnote": "脚注",
  "markdown.image": "打开图片，来自",
  "markdown.no_diagram": "无法绘制",
  "markdown.not_done": "未完成",
  "markdown.show_source": "显示源码",
  "markdown.table": "表格",
  "markdown.wrap": "自动换行",
};
