"""Reactions of the app to messages (open.feishu.cn, im-v1 message-reaction/create and delete)."""

from __future__ import annotations

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.state import FeishuMessage
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

EMOJI = frozenset(
    {
        *("OK", "THUMBSUP", "THANKS", "MUSCLE", "FINGERHEART", "APPLAUSE", "FISTBUMP", "JIAYI", "DONE"),
        *("SMILE", "BLUSH", "OnIt"),
    }
)
"""Some of the types that Feishu knows ("Reaction emoji types", message-reaction/emojis-introduce)."""


def create(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/messages/:id/reactions`: the same once more is the same reaction."""
    message = _find(world, call)
    emoji = call.body["reaction_type"]["emoji_type"]
    if emoji not in EMOJI:
        raise rules.REACTION_TYPE.refusal()
    message.reactions[_id(message, emoji)] = emoji
    operator = {"operator_id": world.bot.app_id, "operator_type": "app"}
    wire = {"reaction_id": _id(message, emoji), "operator": operator, "reaction_type": {"emoji_type": emoji}}
    return CallResult(wire, message.chat.id, message.id, emoji)


def delete(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`DELETE im/v1/messages/:id/reactions/:reaction`."""
    message = _find(world, call)
    message.reactions.pop(call.args[1], None)
    return CallResult({}, message.chat.id, message.id)


def _find(world: FeishuWorkspace, call: FeishuCall) -> FeishuMessage:
    message = world.messages.get(call.args[0])
    if message is None or message.deleted:
        raise rules.REACTION_MESSAGE.refusal()
    return message


def _id(message: FeishuMessage, emoji: str) -> str:
    return f"ZCaCIj-{message.id}-{emoji}"
