"""Texts about the record of a chat."""

ENGLISH = {
    "record_group": "Only groups and channels can be recorded. In this chat, all your messages are meant for me anyway.",
    "record_admins": "Only admins can turn recording on or off.",
    "record_how": "`/record on` records this chat and keeps each message for 14 days. `/record on 30` keeps each message for 30 days. `/record off` stops recording and deletes all recorded messages.",
    "record_too_long": "Recorded messages can be kept for up to {limit} days.",
    "record_on": "📝 **This chat is now being recorded, and each message is kept for {days} days**, including messages that are not meant for me. The record shows who wrote what, and when. I use it for digests (`/digest weekdays 17:00 digest`) and when someone asks me about earlier messages. Recording never makes me reply. Messages deleted in the chat are also deleted from the record. `/record` shows whether recording is on. An admin can stop it with `/record off`, which deletes all recorded messages.",
    "record_on_one": "📝 **This chat is now being recorded, and each message is kept for {days} day**, including messages that are not meant for me. The record shows who wrote what, and when. I use it for digests (`/digest weekdays 17:00 digest`) and when someone asks me about earlier messages. Recording never makes me reply. Messages deleted in the chat are also deleted from the record. `/record` shows whether recording is on. An admin can stop it with `/record off`, which deletes all recorded messages.",
    "record_off": "This chat is no longer recorded. All recorded messages have been deleted.",
    "record_is_off": "This chat is not recorded: I only see messages that are meant for me. An admin can turn on recording with `/record on`.",
    "record_is_on": "This chat has been recorded since {since}. Each message is kept for {days} days. Messages in the record: {count}. An admin can stop recording with `/record off`.",
    "record_is_on_one": "This chat has been recorded since {since}. Each message is kept for {days} day. Messages in the record: {count}. An admin can stop recording with `/record off`.",
    "cmd_record": "Show or change this chat's recording settings",
    "more_record": "`/record` shows whether this chat is recorded (including messages not meant for me) and how long each message is kept. Admins can change this: `/record on` (14 days), `/record on 30`, or `/record off`, which deletes all recorded messages. The chat is notified when recording starts. The record is used for digests and for questions about earlier messages. Recorded messages never make me reply.",
}

CHINESE = {
    "record_group": "消息留存仅适用于群和频道。单聊中的消息都是发给我的，无需开启。",
    "record_admins": "只有管理员可以开启或关闭消息留存。",
    "record_how": "用法：`/record on`（每条消息留存 14 天）、`/record on 30`（留存 30 天）或 `/record off`（关闭并全部删除）。",
    "record_too_long": "最多留存 {limit} 天。",
    "record_on": "📝 **从现在起，我会留存本群的消息，每条保留 {days} 天**，包括不是发给我的消息，内容为发送者、时间和正文。留存的消息仅用于生成摘要（如 `/digest 工作日17:00 摘要`），以及在有人询问时回答群里说过什么；我不会因此主动回复。消息在群里被删除时，留存的内容同步删除。发送 `/record` 可查看；管理员发送 `/record off` 可关闭，届时全部删除。",
    "record_off": "已停止留存本群的消息，此前留存的内容已全部删除。",
    "record_is_off": "本群未开启消息留存，我只处理发给我的消息。管理员可发送 `/record on` 开启。",
    "record_is_on": "本群自 {since} 起留存消息，每条保留 {days} 天，现有 {count} 条。管理员可发送 `/record off` 关闭。",
    "cmd_record": "查看或设置消息留存",
    "more_record": "显示本群是否留存消息（包括不是发给我的消息）以及每条消息保留的天数。管理员可设置：`/record on`（14 天）、`/record on 30`、`/record off`（同时删除已留存的内容）。开启时会在群里告知。留存的消息用于生成摘要和回答群里说过什么，我不会因此主动回复。",
}
