"""The manifest of Feishu and Lark."""

from __future__ import annotations

from bot.platforms.feishu.guide import CHINESE
from bot.platforms.manifest import Budget, Manifest, Operation, Scope

_SEND = "open.feishu.cn, im-v1 message/create: 5 QPS per chat or person, shared by all bots"
_APP = "open.feishu.cn, im-v1 message/create and cardkit-v1: 1,000 per minute and 50 per second for each API"
_CARD = "open.feishu.cn, cardkit-v1 streaming overview: 10 operations per second on one card"
_REACT = "open.feishu.cn, im-v1 message-reaction: 1,000 per minute and 50 per second for each API"
_POST = frozenset({Operation.POST})
_EDIT = frozenset({Operation.EDIT})
_FINAL = frozenset({Operation.FINAL})
_REACTION = frozenset({Operation.REACTION})

SCOPES = (
    ("im:message:send_as_bot", "send messages"),
    ("im:message.p2p_msg:readonly", "read what people write to the bot"),
    ("im:message.group_at_msg:readonly", "read messages in groups that mention the bot"),
    ("im:message:readonly", "read messages that were replied to or forwarded, and fetch attachments"),
    ("im:message:recall", "recall the bot's own messages"),
    ("im:message.reactions:write_only", "mark messages that are being answered (optional)"),
    ("im:resource", "send and fetch pictures and files"),
    ("cardkit:card:write", "show answers as they are written"),
    ("cardkit:card:read", "complete an answer that was being written before a restart"),
    ("contact:contact.base:readonly", "look people up (optional, names and departments need it too)"),
    ("contact:user.base:readonly", "see people's names (optional)"),
    ("im:chat:readonly", "see what groups are called, and who joins them, for the agent (optional)"),
    ("contact:user.department:readonly", "see their departments, for access by department (optional)"),
    (
        "im:message.group_msg",
        "read all messages in groups, including topics, messages that were replied to and replies without a "
        "mention (optional)",
    ),
)
"""The permissions of the app, each with what it is for."""
EVENTS = (
    ("im.message.receive_v1", "a message was received"),
    ("im.message.updated_v1", "a message was edited"),
    ("im.message.recalled_v1", "a message was recalled"),
    ("im.chat.access_event.bot_p2p_chat_entered_v1", "someone opened the chat with the bot"),
    ("im.chat.member.user.added_v1", "someone joined a group (optional)"),
    ("im.chat.member.user.deleted_v1", "someone left a group (optional)"),
    ("im.chat.updated_v1", "a group was renamed (optional)"),
    ("application.bot.menu_v6", "someone chose an item from the bot's menu (optional)"),
)
"""What the app subscribes to."""
CALLBACKS = ("card.action.trigger",)
"""The callbacks of the app, in the second tab of the same page."""


def _format_list(lines: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"\n     - {name}: {what}" for name, what in lines)


MANIFEST = Manifest(
    platform="feishu",
    title="Feishu / Lark",
    adapter="bot.platforms.feishu.adapter:create",
    extra="feishu",
    api_root="https://open.feishu.cn",
    members_only=True,
    activity="none, because Feishu has no such method; the card appears with the first words",
    budgets=(
        Budget(Scope.CHAT, 5, 1.0, _SEND, operations=_POST),
        Budget(Scope.CHAT, 10, 1.0, _CARD, operations=_EDIT | _FINAL),
        Budget(Scope.ACCOUNT, 50, 1.0, _APP, operations=_POST),
        Budget(Scope.ACCOUNT, 50, 1.0, _APP, operations=_EDIT),
        Budget(Scope.ACCOUNT, 50, 1.0, _APP, operations=_FINAL),
        Budget(Scope.ACCOUNT, 1000, 60.0, _APP, operations=_POST),
        Budget(Scope.ACCOUNT, 1000, 60.0, _APP, operations=_EDIT),
        Budget(Scope.ACCOUNT, 1000, 60.0, _APP, operations=_FINAL),
        Budget(Scope.ACCOUNT, 50, 1.0, _REACT, operations=_REACTION),
        Budget(Scope.ACCOUNT, 1000, 60.0, _REACT, operations=_REACTION),
    ),
    first_frame_after=0.7,
    first_frame_characters=30,
    max_file_in=100 * 1024 * 1024,
    max_file_out=30 * 1024 * 1024,
    setup_steps=(
        "Open https://open.feishu.cn/app (Lark: https://open.larksuite.com/app), choose Create Custom App, "
        "and give it a name and a picture.",
        "Under Credentials & Basic Info, copy the App ID (cli_…) and the App Secret.",
        "Under Add Features, add Bot.",
        f"Under Permissions & Scopes, add these (Batch import accepts a list):{_format_list(SCOPES)}",
    ),
    later_steps=(
        "Under Events & Callbacks, Event Configuration, choose to receive events through a persistent "
        f"connection, save, and add these events:{_format_list(EVENTS)}",
        "On the Callback Configuration tab, choose persistent connection as well, save, and add "
        "card.action.trigger (the stop button).",
        "Under Version Management & Release, create a version, submit it and have it approved. Only then do "
        "permissions and events take effect.",
    ),
    write_to_it="In Feishu, search for the bot by name and send it a message. To add it to a group, open the "
    "group's Settings, Bots.",
    guides={"zh": CHINESE},
    setup="bot.platforms.feishu.setup:SETUP",
)
