"""Rules for the arguments of methods, one table: which are required, how long they may be, how many.

From the pages of the methods (docs.slack.dev/reference/methods) and the schemas of their arguments, which
slack-ruby/slack-api-ref copies. An argument outside its schema is invalid_arguments, unless the page names an
error of its own for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from roebot_testing.emulators.slack.errors import SlackApiError

INVALID = "invalid_arguments"
POSTS = ("chat.postMessage", "chat.postEphemeral", "chat.update")
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")
MESSAGE_ATTACHMENTS = 100


class Unit(StrEnum):
    """Unit in which an argument is measured."""

    CHARACTERS = "characters"
    BYTES = "bytes"
    ITEMS = "items"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """Rule for one argument of some methods: it is there if `required`, and measures `least` to `most` (0: no
    limit). `name` "a.*" stands for each item of the list `a`, "a.*.b" for a key of each.
    """

    methods: Sequence[str]
    name: str
    error: str = INVALID
    most: int = 0
    least: int = 0
    unit: Unit = Unit.CHARACTERS
    required: bool = False


ARGUMENT_RULES: Sequence[ArgumentRule] = (
    ArgumentRule((*POSTS, "chat.delete", *STREAMS), "channel", required=True),
    ArgumentRule(("chat.update", "chat.delete", "chat.appendStream", "chat.stopStream"), "ts", required=True),
    ArgumentRule(("chat.postEphemeral",), "user", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "channel_id", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "thread_ts", required=True),
    ArgumentRule(
        ("agents.sessions.setStatus", "agents.sessions.rename", "assistant.threads.setSuggestedPrompts"),
        "channel_id",
        required=True,
    ),
    ArgumentRule(("agents.sessions.setStatus",), "status", required=True),
    ArgumentRule(("agents.sessions.setStatus",), "title", INVALID, 200),
    ArgumentRule(("agents.sessions.rename",), "title", INVALID, 200, required=True),
    ArgumentRule(("assistant.threads.setSuggestedPrompts",), "prompts", required=True),
    ArgumentRule(("assistant.threads.setStatus",), "loading_messages", INVALID, 10, 1, Unit.ITEMS),
    ArgumentRule(("assistant.threads.setStatus",), "loading_messages.*", INVALID, 50, 1),
    ArgumentRule(
        ("conversations.history", "conversations.replies", "conversations.info"), "channel", required=True
    ),
    ArgumentRule(("conversations.replies",), "ts", required=True),
    ArgumentRule(("conversations.replies",), "limit", INVALID, 1000, 1, Unit.NUMBER),
    ArgumentRule(("reactions.add", "reactions.remove"), "channel", "no_item_specified", required=True),
    ArgumentRule(("reactions.add", "reactions.remove"), "timestamp", "no_item_specified", required=True),
    ArgumentRule(("reactions.add", "reactions.remove"), "name", required=True),
    ArgumentRule(("users.info",), "user", required=True),
    ArgumentRule(("files.info",), "file", required=True),
    ArgumentRule(("files.getUploadURLExternal",), "filename", "missing_argument", required=True),
    ArgumentRule(
        ("files.getUploadURLExternal",), "length", "missing_argument", 0, 1, Unit.NUMBER, required=True
    ),
    ArgumentRule(("files.getUploadURLExternal",), "alt_txt", "alt_txt_too_large", 1000),
    ArgumentRule(("files.completeUploadExternal",), "files", required=True),
    ArgumentRule(("files.completeUploadExternal",), "files.*.highlight_type", INVALID, 10),
    ArgumentRule(("chat.update",), "text", "msg_too_long", 4_000, unit=Unit.BYTES),
    ArgumentRule(("chat.postEphemeral",), "text", "msg_too_long", 40_000),
    ArgumentRule((*POSTS, *STREAMS), "markdown_text", "msg_too_long", 12_000),
    ArgumentRule(POSTS, "attachments", "too_many_attachments", MESSAGE_ATTACHMENTS, 0, Unit.ITEMS),
)
"""chat.postMessage cuts a `text` of more than 40,000 characters instead of refusing it.

chat.update documents a limit of 4,000 characters, but counts UTF-8 bytes: it took 4,000 bytes of non-ASCII
text and refused 4,002 (openclaw/openclaw#115027).
"""


def check_arguments(method: str, values: Mapping[str, Any]) -> None:
    """Raise SlackApiError for the first argument that breaks a rule."""
    for rule in ARGUMENT_RULES:
        if method in rule.methods:
            for problem in _find_problems(rule, values):
                raise _refuse(rule, problem)


def _refuse(rule: ArgumentRule, problem: str) -> SlackApiError:
    if rule.error != INVALID or not problem:
        return SlackApiError(rule.error)
    return SlackApiError(INVALID, response_metadata={"messages": [f"[ERROR] {problem}"]})


def _find_problems(rule: ArgumentRule, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text for each problem, "" where Slack's is not known."""
    name, *below = rule.name.split(".")
    value = values.get(name)
    if value is None or value == "":
        if rule.required:
            yield f"missing required field: {name}"
        return
    for pointer, found in _find_values(value, below, f"/{name}"):
        place = f"[json-pointer:{pointer}]"
        size = _measure(rule, found)
        if rule.most and size > rule.most and rule.unit is Unit.ITEMS:
            yield f"no more than {rule.most} items allowed {place}"
        elif rule.most and size > rule.most and rule.unit is Unit.CHARACTERS:
            yield f"must be less than {rule.most + 1} characters {place}"
        elif size < rule.least and rule.unit is Unit.CHARACTERS:
            yield f"must be more than {rule.least - 1} characters {place}"
        elif size < rule.least or (rule.most and size > rule.most):
            yield ""


def _find_values(value: Any, path: Sequence[str], pointer: str) -> Iterator[tuple[str, Any]]:
    if not path:
        yield pointer, value
    elif path[0] == "*":
        for number, one in enumerate(_read_list(value)):
            yield from _find_values(one, path[1:], f"{pointer}/{number}")
    elif isinstance(value, dict) and value.get(path[0]) is not None:
        yield from _find_values(value[path[0]], path[1:], f"{pointer}/{path[0]}")


def _measure(rule: ArgumentRule, value: Any) -> int:
    if rule.unit is Unit.NUMBER:
        text = str(value)
        return int(text) if text.lstrip("-").isdecimal() else rule.least - 1
    if rule.unit is Unit.BYTES:
        return len(str(value).encode(errors="surrogatepass"))
    return len(_read_list(value) if rule.unit is Unit.ITEMS else str(value))


def _read_list(value: Any) -> Sequence[Any]:
    """Return a list that came as such or as JSON text; anything else counts as empty."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return ()
    return value if isinstance(value, list) else ()
