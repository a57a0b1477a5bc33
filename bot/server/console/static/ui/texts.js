// Texts of the shared elements.

import { addTexts, sideBySide } from "../texts/texts.js";

export const texts = sideBySide({
  "picker.required": ["Choose an entry from the list.", "请从列表中选择一项。"],
  "picker.useId": ["Use this ID", "使用此 ID"],
  "names.unknown": ["Unnamed user on {platform}", "{platform} 上的未命名用户"],
  "chart.table": ["Show as table", "以表格查看"],
  "list.clear": ["Clear filters", "清除筛选"],
  "models.guide": ["Guide (quotes the documentation)", "向导（引用文档）"],
  "models.guideNote": ["The guide is not a language model. For real answers, connect a model.", "向导不是语言模型。要获得真正的回答，请连接模型。"],
  "models.local": ["{model} (toy, invents answers)", "{model}（仅供试玩，会编造回答）"],
  "models.localNote": ["A toy that runs on this machine and invents answers. To install it, run {command}.", "仅供试玩：在本机运行，会编造回答。安装命令：{command}"],
  "remedy.model": ["Open models", "查看模型"],
  "remedy.key": ["Replace the key", "更换密钥"],
  "remedy.agent": ["Open agents", "查看智能体"],
  "remedy.signIn": ["Sign in to the server", "登录服务器"],
  "remedy.account": ["Open accounts", "查看账号"],
  "remedy.limit": ["Show usage", "查看用量"],
  "remedy.askAdmin": ["Ask an admin to fix this in the settings.", "管理员可以在设置中解决此问题。"],
  "approval.title": ["Approval needed", "需要审批"],
  "approval.tool": ["Approval needed: ", "需要审批："],
  "approval.expires": ["{who} Expires {time}.", "{who}有效期至 {time}。"],
  "approval.lasting": ["“Approve here” also allows the tool for your own requests in this conversation, for some days; “Always approve” allows it for everyone on the account.", "“本会话均批准”：几天内，你本人在此会话中的请求可直接使用该工具；“始终批准”：此账号上的所有人都可直接使用。"],
});

addTexts(texts);
