"""The guided setup in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from bot.platforms.setup import SetupGuide

CHINESE_SCOPES: Mapping[str, str] = {
    "im:message:send_as_bot": "发送消息",
    "im:message.p2p_msg:readonly": "读取用户发给机器人的单聊消息",
    "im:message.group_at_msg:readonly": "读取群聊中 @ 机器人的消息",
    "im:message:readonly": "读取被回复或转发的消息，下载附件",
    "im:message:recall": "撤回机器人自己的消息",
    "im:message.reactions:write_only": "给正在回答的消息添加表情回复（可选）",
    "im:resource": "上传和下载图片与文件",
    "cardkit:card:write": "在生成过程中显示回答",
    "cardkit:card:read": "完成重启前未写完的回答",
    "contact:contact.base:readonly": "查询用户（可选，姓名和部门也需要它）",
    "contact:user.base:readonly": "显示用户姓名（可选）",
    "im:chat:readonly": "让智能体知道群名称和新成员（可选）",
    "contact:user.department:readonly": "读取用户所属部门，用于按部门授权（可选）",
    "im:message.group_msg": "读取群聊中的所有消息，包括话题、被回复的消息和未 @ 机器人的回复（可选）",
}
CHINESE_EVENTS: Mapping[str, str] = {
    "im.message.receive_v1": "收到消息",
    "im.message.updated_v1": "消息被编辑",
    "im.message.recalled_v1": "消息被撤回",
    "im.chat.access_event.bot_p2p_chat_entered_v1": "用户打开与机器人的单聊",
    "im.chat.member.user.added_v1": "有人入群（可选）",
    "im.chat.member.user.deleted_v1": "有人退群（可选）",
    "im.chat.updated_v1": "群名称被修改（可选）",
    "application.bot.menu_v6": "用户点击机器人菜单（可选）",
}


def _format_list(lines: Mapping[str, str]) -> str:
    return "".join(f"\n     - {name}：{what}" for name, what in lines.items())


CHINESE = SetupGuide(
    (
        "打开 https://open.feishu.cn/app （Lark：https://open.larksuite.com/app ），选择「创建企业自建"
        "应用」，填写名称并选择图标。",
        "在「凭证与基础信息」中复制 App ID（cli_…）和 App Secret。",
        "在「添加应用能力」中添加「机器人」。",
        f"在「权限管理」中开通以下权限（「批量导入」可直接粘贴列表）：{_format_list(CHINESE_SCOPES)}",
    ),
    "在飞书中搜索机器人的名称，给它发一条消息。如需在群聊中使用，打开群「设置」中的「群机器人」添加它。",
    later_steps=(
        f"在「事件与回调」的「事件配置」中选择使用长连接接收事件并保存，然后添加以下事件：{_format_list(CHINESE_EVENTS)}",
        "在「回调配置」中同样选择使用长连接并保存，然后添加 card.action.trigger（停止按钮）。",
        "在「版本管理与发布」中创建版本，提交并等待审核通过。此后权限和事件才会生效。",
    ),
    questions={
        "domain": "应用所在平台：feishu（feishu.cn）或 lark（larksuite.com）",
        "app_id": "应用的 App ID（cli_…）",
        "app_secret": "应用的 App Secret",
    },
    person="用户的 open_id（ou_…）",
    title="飞书",
    problems={
        "Feishu refuses app id or secret of account {account} ({reason}): the console shows the current "
        "ones under Credentials & Basic Info; domain must be lark for an app on larksuite.com": "飞书拒绝了"
        "账号 {account} 的 App ID 或 App Secret（{reason}）：请在开发者后台的「凭证与基础信息」中查看；"
        "larksuite.com 上的应用必须选择 lark",
        "Feishu does not let account {account} act as a bot ({reason}): add the feature Bot to the app and "
        "release a version of it": "账号 {account} 的应用还不是机器人（{reason}）：请为应用添加「机器人」能"
        "力并发布版本",
        "Feishu refuses the long connection of account {account} ({reason}): check app id and secret, and "
        "that the app is self-built and receives events by persistent connection": "飞书拒绝了账号 "
        "{account} 的长连接（{reason}）：请检查 App ID 和 App Secret，并确认这是企业自建应用、使用长连接接"
        "收事件",
        "cannot reach Feishu: {reason}": "无法连接飞书：{reason}",
        "Feishu answers: {reason}": "飞书返回：{reason}",
    },
)
