"""reactions.add and reactions.remove, for the app's own reactions.

Errors: docs.slack.dev/reference/methods/reactions.add and …/reactions.remove.
"""

from __future__ import annotations

import re

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.slack.calls import SlackCall, SlackMethod
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import SlackChatMessage
from roebot_testing.emulators.transcript import FrameKind

EMOJI = frozenset({"eyes", "hourglass_flowing_sand", "robot_face", "thumbsup", "white_check_mark"})
"""Names that the emulated workspace knows, of several thousand."""
_TS = re.compile(r"\d+\.\d+")


def add(call: SlackCall) -> CallResult:
    """reactions.add."""
    message, name = _find(call)
    if name in message.reactions:
        raise SlackApiError("already_reacted")
    message.reactions.append(name)
    return CallResult({}, message.channel, message.ts, name)


def remove(call: SlackCall) -> CallResult:
    """reactions.remove."""
    message, name = _find(call)
    if name not in message.reactions:
        raise SlackApiError("no_reaction")
    message.reactions.remove(name)
    return CallResult({}, message.channel, message.ts)


def _find(call: SlackCall) -> tuple[SlackChatMessage, str]:
    name, ts = call.text("name"), call.text("timestamp")
    if name not in EMOJI:
        raise SlackApiError("invalid_name")
    if not _TS.fullmatch(ts):
        raise SlackApiError("bad_timestamp")
    channel = call.world.channel(call.values.get("channel"))
    if channel.archived:
        raise SlackApiError("is_archived")
    message = channel.messages.get(ts)
    if message is None or message.visible_to:
        raise SlackApiError("message_not_found")
    return message, name


METHODS = {
    "reactions.add": SlackMethod(add, 50, FrameKind.REACTION),
    "reactions.remove": SlackMethod(remove, 20, FrameKind.REACTION),
}
"""Of tiers 3 and 2."""
