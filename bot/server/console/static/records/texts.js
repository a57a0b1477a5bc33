// Texts of the pages about usage and the audit log.

import { addTexts, sideBySide } from "../texts/texts.js";

export const texts = sideBySide({
  "usage.csv": ["Download CSV", "下载 CSV"],
  "usage.period": ["Period", "时间范围"],
  "usage.days": ["Last {count} days", "最近 {count} 天"],
  "usage.days.one": ["Today", "今天"],
  "usage.person": ["Person", "人员"],
  "usage.everyone": ["Everyone", "所有人"],
  "usage.cost": ["Cost", "费用"],
  "usage.total": ["Tokens", "Token 数"],
  "usage.input": ["Input", "输入"],
  "usage.cached": ["Cached", "缓存命中"],
  "usage.output": ["Output", "输出"],
  "usage.turns": ["Answers", "回答数"],
  "usage.by": ["Break down by", "统计维度"],
  "usage.by.day": ["Day", "日期"],
  "usage.by.model": ["Model", "模型"],
  "usage.by.person": ["Person", "人员"],
  "usage.by.account": ["Account", "账号"],
  "usage.by.chat": ["Chat", "聊天"],
  "usage.none": ["No usage in this period.", "此时间段内没有用量。"],
  "usage.unknown": ["unknown", "未知"],
  "usage.costChart": ["Cost per day for the last {count} days. The table below shows the same data.", "最近 {count} 天每天的费用。下方表格显示相同的数据。"],
  "usage.tokenChart": ["Tokens per day for the last {count} days. The table below shows the same data.", "最近 {count} 天每天的 Token 数。下方表格显示相同的数据。"],
  "audit.search": ["Search events", "搜索事件"],
  "audit.person": ["Person", "人员"],
  "audit.anyone": ["Anyone", "所有人"],
  "audit.none": ["No audit events yet.", "还没有审计事件。"],
  "audit.copyChat": ["Copy chat ID", "复制聊天 ID"],
});

addTexts(texts);
