"""Selection of conversation messages for memory: people's messages and final answers.

Reasons for rejecting a call of a subagent are not among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from agent.core.interfaces import MemoryScope
from agent.shared.approval_words import IS_REJECTED, is_plain_no
from agent.shared.envelope import APP, escape_attribute, parse_envelopes, plain_text, render_envelope
from agent.shared.run_identity import SCHEDULED, SENDER
from agent.shared.text import cut_middle
from agent.uploads.inline_images import list_file_names


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A queued message. `role` is `person` or `assistant`; `id` is its id in the thread. `author` is the
    person as `platform:id`, `name` their display name, `time` the time of writing, in the chat's time zone
    ("" if the message has no envelope). `files` are the names of attached files.
    """

    id: str
    role: str
    text: str
    author: str = ""
    name: str = ""
    time: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingUpdate:
    """A thread's pending update. `id` changes whenever messages are added to it.

    `erasures` is the number of times the scope had been erased when the update was read from the queue.
    """

    id: str
    scope: MemoryScope
    thread_id: str
    messages: tuple[QueuedMessage, ...]
    attempts: int
    erasures: int


MAX_MESSAGE_CHARACTERS, MAX_MESSAGES, MAX_FILES = 4_000, 60, 10
CUT = " […] "
ASK, NO_ANSWER = "ask_clarification", "(no answer)"
"""The tool by which the agent asks a person, and its result if they did not reply."""
REPLY, REJECTED = "reply:", "rejected:"
"""Beginnings of the ids of a queued reply, and of a call that was rejected."""
CALL, MAX_CALL = "(I wanted to call {tool}: {args})", 300
"""A rejected call, and the maximum number of characters of its arguments."""


def select_memorable(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return the messages without tool calls, tool results and middleware messages.

    A question to a person becomes an answer of the agent, and what they replied a message of theirs. So does
    a tool call that they rejected with a reason.
    """
    found: list[BaseMessage] = []
    calls: dict[str | None, ToolCall] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls |= {call["id"]: call for call in message.tool_calls}
        if isinstance(message, ToolMessage) and message.additional_kwargs.get(IS_REJECTED):
            found += _list_reasons(message, calls.get(message.tool_call_id))
        elif isinstance(message, ToolMessage):
            found += _list_replies(message)
        elif isinstance(message, AIMessage) and (question := _find_question(message)):
            found.append(AIMessage(question, id=message.id))
        elif _is_memorable(message):
            found.append(message)
    return found


def _find_question(message: AIMessage) -> str:
    """Return the question in an answer that consists of one, or "" otherwise."""
    asked = (str(call["args"].get("question") or "") for call in message.tool_calls if call["name"] == ASK)
    return next(asked, "")


def _list_replies(result: ToolMessage) -> list[BaseMessage]:
    """Return a person's reply to a question, as one message per author; none for other results."""
    if result.name != ASK or result.status != "success" or result.text in ("", NO_ANSWER):
        return []
    # In a private chat a reply has no envelope.
    texts = [render_envelope(one) for one in parse_envelopes(result.text)] or [result.text]
    return [HumanMessage(text, id=f"{REPLY}{result.id}:{at}") for at, text in enumerate(texts)]


def _list_reasons(result: ToolMessage, call: ToolCall | None) -> list[BaseMessage]:
    """Return the rejected call and each person's reason; empty if everyone only said no."""
    told = [one for one in parse_envelopes(result.text) if not is_plain_no(one.text)]
    args = json.dumps(call["args"] if call else {}, ensure_ascii=False, default=str)
    wanted = AIMessage(CALL.format(tool=result.name, args=args[:MAX_CALL]), id=f"{REJECTED}{result.id}")
    said = [HumanMessage(render_envelope(one), id=f"{REPLY}{result.id}:{at}") for at, one in enumerate(told)]
    return [wanted, *said] if said else []


def filter_for_scope(messages: Iterable[BaseMessage], scope: MemoryScope) -> list[BaseMessage]:
    """Return the messages that may enter the scope's memory.

    A person's memory takes neither messages by other people nor the answers to them. No memory takes the text
    of a schedule, messages of apps or messages that only quote others, nor the answers to them.
    """
    kept, is_taken = [], True
    for message in messages:
        if isinstance(message, HumanMessage):
            is_automatic = message.additional_kwargs.get(SCHEDULED) or _is_by_app(message)
            has_words = bool(plain_text(message.text).strip()) and not is_automatic
            is_taken = has_words and (scope.kind != "person" or _author_of(message, scope.key) == scope.key)
        if is_taken:
            kept.append(message)
    return kept


def _is_by_app(message: BaseMessage) -> bool:
    return any(one.role == APP for one in parse_envelopes(message.text))


def _author_of(message: BaseMessage, default: str) -> str:
    """Return a message's author according to its envelope or the bot."""
    found = parse_envelopes(message.text)
    return found[0].person if found else str(message.additional_kwargs.get(SENDER, default))


def to_queued_messages(messages: Sequence[BaseMessage]) -> list[QueuedMessage]:
    """Convert the newest `MAX_MESSAGES` messages for the queue: people's own text without envelopes,
    shortened in the middle.
    """
    return [_to_queued(place, message) for place, message in enumerate(messages)][-MAX_MESSAGES:]


def _to_queued(place: int, message: BaseMessage) -> QueuedMessage:
    is_person = isinstance(message, HumanMessage)
    who = "person" if is_person else "assistant"
    envelopes = parse_envelopes(message.text) if is_person else []
    files = _list_files(message) if isinstance(message, HumanMessage) else ()
    whole = plain_text(message.text) if is_person else message.text
    text = cut_middle(whole, MAX_MESSAGE_CHARACTERS, CUT)
    identity = message.id or sha256(f"{place}:{who}:{message.text}".encode()).hexdigest()[:16]
    author, name, time = next(((one.person, one.name, one.time) for one in envelopes), ("", "", ""))
    return QueuedMessage(identity, who, text, author, name, time, files)


def _list_files(message: HumanMessage) -> tuple[str, ...]:
    """Return the names of a message's files, without which its text may be unclear."""
    return tuple(escape_attribute(name) for name in list_file_names(message)[:MAX_FILES])


def _is_memorable(message: BaseMessage) -> bool:
    if "lc_source" in message.additional_kwargs or not message.text.strip():
        return False
    if isinstance(message, AIMessage):
        return not message.tool_calls and not message.invalid_tool_calls
    return isinstance(message, HumanMessage)
