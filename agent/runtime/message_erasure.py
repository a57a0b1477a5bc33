"""Erase a person's messages from the values of a thread: checkpoints, writes and JSON copies of them.

A message of the person loses its content, its author and its files; so do the answers and tool results that
follow messages of theirs alone. In all other texts, literal quotations are masked. Ids and the order of
messages stay, so that the thread can go on.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.types import Interrupt, Send
from pydantic import BaseModel

from agent.shared.compaction import COMPACTION
from agent.shared.envelope import MARK, MESSAGE, QUOTATION
from agent.shared.escaped_text import Edit, edit_views
from agent.shared.run_identity import JOINED, SENDER
from agent.shared.text_masking import MASK, TextMask, mask_sentences
from agent.subagents.kinds import TASK

SOURCE: Final = "lc_source"
SUMMARY: Final = "summarization"
ERASED_SENDER: Final = "erased"
"""Author of an erased message."""
DERIVED: Final = frozenset({"title", "todos"})
"""Values that the model wrote about the conversation; they are removed."""
_STRUCTURE: Final = frozenset(
    {"type", "id", "role", "tool_call_id", "status", "node", "source", "run_id", "thread_id", SENDER, SOURCE}
)
_SPOKEN: Final = frozenset({"human", "user"})
_TASK_KEPT: Final = ("subagent_type",)
T = TypeVar("T")
_TAGGED: Final = {
    tag: re.compile(rf"<{MARK}*{tag}( [^<>\n]*)>\n.*?\n<{MARK}*/{tag}>", re.DOTALL)
    for tag in (MESSAGE, QUOTATION)
}
_AUTHOR: Final = re.compile(r' from="([^"]*)"')
_TEXT: Final = r'"(?:[^"\\\n]|\\.)*"'
_EXCHANGE: Final = re.compile(
    rf"^- [^\"\n]*{_TEXT} \(([^()\n]*)\)(?: \[with ([^\[\]\n]*)\])?: {_TEXT} -> {_TEXT}", re.MULTILINE
)
"""What somebody asked the agent in another conversation, with its answer, as the bot tells a new one: who
asked, and the others whose words led to the answer, stand behind the name.
"""
_CONTAINERS: Final = (list, tuple, set, frozenset)


@dataclasses.dataclass(frozen=True, slots=True)
class ErasureTarget:
    """Messages to erase: by id, and by author except `spared_ids`. `mask` knows what the person said, `names`
    are their display names.
    """

    message_ids: frozenset[str]
    authors: frozenset[str]
    spared_ids: frozenset[str]
    mask: TextMask
    names: tuple[str, ...]

    def covers(self, message: BaseMessage) -> bool:
        """Return whether the person wrote this message, or it was erased before."""
        if message.id in self.spared_ids:
            return False
        sender = message.additional_kwargs.get(SENDER)
        return message.id in self.message_ids or sender in self.authors or sender == ERASED_SENDER


def iterate_messages(value: Any) -> Iterator[BaseMessage]:
    """Yield the messages in a value of a thread, in order."""
    if isinstance(value, BaseMessage):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from iterate_messages(item)
    elif isinstance(value, _CONTAINERS):
        for item in value:
            yield from iterate_messages(item)
    elif isinstance(value, Send):
        yield from iterate_messages(value.arg)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from iterate_messages(getattr(value, field.name))


class ErasureTimeline:
    """Finds the messages to erase. `add_value` takes the values of a thread in the order in which they were
    written.
    """

    def __init__(self, target: ErasureTarget) -> None:
        self._target = target
        self._seen: set[str] = set()
        self._is_answered = True
        self._is_theirs = False
        self.erased: set[str] = set()
        """Ids of the messages."""
        self.paths: set[str] = set()
        """Paths of their files."""
        self.calls: set[str] = set()
        """Ids of the tool calls that were made for them."""

    @property
    def is_theirs(self) -> bool:
        """Return whether the newest messages are the person's alone, or answers to them."""
        return self._is_theirs

    def add_value(self, value: Any, *, is_subagent: bool = False) -> None:
        """Take the messages of a value. Nobody wrote those of a subagent: its task comes from an answer."""
        for message in iterate_messages(value):
            if message.id and message.id not in self._seen:
                self._seen.add(message.id)
                self._add_message(message.id, message, is_subagent)

    def _add_message(self, identity: str, message: BaseMessage, is_subagent: bool) -> None:
        source = message.additional_kwargs.get(SOURCE)
        if is_subagent or not isinstance(message, HumanMessage) or source is not None:
            self._is_answered = True
            if self._is_theirs and source != SUMMARY:
                self.erased.add(identity)
                self.calls |= {str(call["id"]) for call in getattr(message, "tool_calls", ())}
            return
        is_theirs = self._target.covers(message)
        begins = self._is_answered and not message.additional_kwargs.get(JOINED)
        self._is_theirs = is_theirs and (begins or self._is_theirs)
        self._is_answered = False
        if is_theirs:
            self.erased.add(identity)
            files = message.additional_kwargs.get("files") or ()
            self.paths |= {
                str(file["path"]) for file in files if isinstance(file, Mapping) and "path" in file
            }


class ValueEraser:
    """Erases messages from values. A value without anything to erase is returned itself."""

    def __init__(self, target: ErasureTarget, timeline: ErasureTimeline) -> None:
        self._target = target
        self._erased = timeline.erased
        self._paths = timeline.paths
        self._calls = timeline.calls
        self._tags = tuple(_TAGGED)
        self.blanked: set[str] = set()
        """Ids of the messages that lost their content now."""
        self._by_type: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
            (str, self._erase_text),
            (BaseMessage, self._erase_message),
            (Mapping, self._erase_mapping),
            (_CONTAINERS, self._erase_items),
            (Send, self._erase_send),
            (BaseModel, self._erase_model),
        )

    def erase(self, value: Any) -> Any:
        """Return the value without what the person said."""
        for kind, erase in self._by_type:
            if isinstance(value, kind):
                return self.erase_spoken(value, erase) if _is_spoken(value) else erase(value)
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        names = (field.name for field in dataclasses.fields(value) if field.init)
        fields = {name: getattr(value, name) for name in names}
        return self._erase_fields(value, fields, lambda changed: dataclasses.replace(value, **changed))

    def erase_spoken(self, value: Any, erase: Callable[[Any], Any]) -> Any:
        """Call `erase` with a person's message or its text: a message that stays keeps its own envelope."""
        self._tags = (QUOTATION,)
        try:
            return erase(value)
        finally:
            self._tags = tuple(_TAGGED)

    def erase_channel(self, channel: str, value: Any) -> Any:
        """Return the value of a channel without what the person said."""
        return None if channel in DERIVED else self.erase(value)

    def erase_channels(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of channels without what the person said."""
        found = {name: self.erase_channel(name, value) for name, value in values.items()}
        return found if any(found[name] is not value for name, value in values.items()) else values

    def _erase_text(self, text: str) -> str:
        shown = text
        for tag in self._tags:
            shown = edit_views(shown, partial(self._find_tagged, tag)) if tag in shown else shown
        shown = edit_views(shown, self._find_exchanges) if " -> " in shown else shown
        erased = self._target.mask.apply(shown)
        return text if erased == text else erased

    def _find_tagged(self, tag: str, text: str) -> Iterator[Edit]:
        """Find quotations, and messages in results of tools: answers to questions and reasons for a no."""
        for found in _TAGGED[tag].finditer(text):
            author = _AUTHOR.search(found[1])
            if author is not None and author[1] in self._target.authors:
                yield *found.span(), f'<{tag} from="{ERASED_SENDER}">\n{MASK}\n</{tag}>'

    def _find_exchanges(self, text: str) -> Iterator[Edit]:
        for found in _EXCHANGE.finditer(text):
            people = {found[1], *(found[2] or "").split(", ")}
            if not people.isdisjoint(self._target.authors):
                yield *found.span(), f"- {MASK}"

    def _erase_message(self, message: BaseMessage) -> BaseMessage:
        extra = message.additional_kwargs
        if extra.get(SOURCE) == SUMMARY and isinstance(message.content, str):
            content = mask_sentences(message.content, self._target.mask, self._target.names)
            return message if content == message.content else message.model_copy(update={"content": content})
        if message.id in self._erased or (not message.id and self._target.covers(message)):
            blank = _blank_message(message)
            return message if blank == message else self._note_blank(message.id, blank)
        names = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls", "artifact")
        fields = {name: getattr(message, name) for name in names if hasattr(message, name)}
        return self._erase_fields(message, fields, lambda changed: message.model_copy(update=changed))

    def _note_blank(self, identity: str | None, blank: T) -> T:
        self.blanked.add(identity or "")
        return blank

    def _erase_send(self, value: Send) -> Send:
        arg = self._blank_calls(self.erase(value.arg))
        return value if arg is value.arg else Send(value.node, arg, timeout=value.timeout)

    def _blank_calls(self, arg: Any) -> Any:
        """Remove the arguments of the person's tool calls that wait to be executed."""
        if not isinstance(arg, list):
            return arg
        calls = [
            _blank_call(one) if isinstance(one, Mapping) and one.get("id") in self._calls else one
            for one in arg
        ]
        return arg if calls == arg else calls

    def _erase_model(self, value: BaseModel) -> BaseModel:
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return self._erase_fields(value, fields, lambda changed: value.model_copy(update=changed))

    def _erase_fields(self, value: T, fields: Mapping[str, Any], change: Callable[[dict[str, Any]], T]) -> T:
        changed = {name: new for name, old in fields.items() if (new := self.erase(old)) is not old}
        return change(changed) if changed else value

    def _erase_mapping(self, value: Mapping[Any, Any]) -> Any:
        if value.get("id") in self._erased and "content" in value:
            blank = _blank_entry(value)
            return value if blank == value else self._note_blank(value["id"], blank)
        found = {
            key: item if key in _STRUCTURE else self.erase(item)
            for key, item in self._without_focus(value).items()
            if key not in self._paths
        }
        is_same = len(found) == len(value) and all(found[key] is item for key, item in value.items())
        return value if is_same else found

    def _without_focus(self, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return the settings of a run without what the person wanted a summary to keep: the words of a
        command, which are too few to be found as a quotation.
        """
        order = value.get(COMPACTION)
        if not isinstance(order, Mapping) or not order.get("focus"):
            return value
        is_theirs = value.get("user_id") in self._target.authors
        return {**value, COMPACTION: {**order, "focus": ""}} if is_theirs else value

    def _erase_items(self, value: Any) -> Any:
        found = [self.erase(item) for item in value if not self._is_their_file(item)]
        if len(found) == len(value) and all(new is old for new, old in zip(found, value, strict=True)):
            return value
        return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)

    def _is_their_file(self, item: Any) -> bool:
        if isinstance(item, str):
            return item in self._paths
        return isinstance(item, Mapping) and item.get("path") in self._paths


def _is_spoken(value: Any) -> bool:
    """Return whether a value is a message of a person, as an object or as JSON."""
    if isinstance(value, Mapping):
        return "content" in value and not _SPOKEN.isdisjoint((value.get("type"), value.get("role")))
    return isinstance(value, HumanMessage)


def blank_texts(value: Any) -> Any:
    """Return a value of JSON-like data with every text replaced, such as a question about a tool call."""
    if isinstance(value, str):
        return MASK
    if isinstance(value, Mapping):
        return {key: item if key in _STRUCTURE else blank_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [blank_texts(item) for item in value]
    return value


def blank_interrupt(value: Any) -> Any:
    """Return interrupts, or the answers to them, with every text replaced."""
    if isinstance(value, Interrupt):
        blank = blank_texts(value.value)
        return value if blank == value.value else dataclasses.replace(value, value=blank)
    if isinstance(value, list | tuple):
        items = [blank_interrupt(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    blank = blank_texts(value)
    return value if blank == value else blank


def _blank_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call without arguments. That of a waiting subagent stays valid, so that it can end."""
    if call.get("name") != TASK:
        return {**call, "args": {}}
    args = call.get("args") or {}
    return {**call, "args": {**blank_texts(args), **{key: args[key] for key in _TASK_KEPT if key in args}}}


def _blank_message(message: BaseMessage) -> BaseMessage:
    changes: dict[str, Any] = {"content": MASK, "additional_kwargs": _blank_extra(message.additional_kwargs)}
    if isinstance(message, AIMessage):
        changes["tool_calls"] = [{**call, "args": {}} for call in message.tool_calls]
        changes["invalid_tool_calls"] = []
    if hasattr(message, "artifact"):
        changes["artifact"] = None
    return message.model_copy(update=changes)


def _blank_entry(entry: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a message that is stored as JSON without its content."""
    kept = ("id", "type", "role", "tool_call_id", "name", "status", "usage_metadata")
    calls = [{**call, "args": {}} for call in entry.get("tool_calls") or () if isinstance(call, Mapping)]
    blank = {key: entry[key] for key in kept if key in entry}
    extra = _blank_extra(entry.get("additional_kwargs") or {})
    return {**blank, "content": MASK, "additional_kwargs": extra, **({"tool_calls": calls} if calls else {})}


def _blank_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: extra[key] for key in (SOURCE, JOINED) if key in extra}
    return {**kept, SENDER: ERASED_SENDER} if SENDER in extra else kept
