"""From the events of the LangGraph API to what the dispatcher needs.

Only assistant text meant for people passes: an allow-list of message types, at the root of the graph,
without the tag by which a graph marks inner model calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from bot.runtime.interface import (
    Answer,
    Attempt,
    Called,
    Ended,
    Failed,
    Gap,
    Interrupted,
    Join,
    Joined,
    Presented,
    Returned,
    RunEvent,
    Said,
    Text,
    Usage,
    Used,
)
from bot.runtime.progress import subagent, todos, tool_calls, tool_result

ASSISTANT = frozenset({"ai", "AIMessageChunk", "AIMessage"})
HUMAN = frozenset({"human", "HumanMessage"})
TOOL = frozenset({"tool", "ToolMessage"})
COUNTS = ("input_tokens", "output_tokens", "total_tokens")
# No step uses as many; sums of such numbers fit into every database.
MOST_TOKENS = 2**40
HIDDEN_TAGS = frozenset({"nostream", "langsmith:nostream"})
STREAM_MODES: tuple[Literal["messages-tuple"], Literal["updates"], Literal["custom"]] = (
    "messages-tuple",
    "updates",
    "custom",
)


def translate(name: str, data: Any) -> Iterator[RunEvent]:
    """The events that one server event stands for (none for what is not meant for people)."""
    if name == "messages":
        yield from _piece(data)
    elif name == "updates":
        yield from _updates(data)
    elif name == "custom":
        yield from subagent(data)
    elif name == "metadata":
        yield Attempt(int(data.get("attempt") or 1) if isinstance(data, Mapping) else 1)
    elif name == "error":
        yield _failure(data)
    elif name == "gap":
        yield Gap()
    elif name == "end":
        yield Ended(str(data.get("status") or "") if isinstance(data, Mapping) else "")


def text_of(content: Any) -> str:
    """The visible text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type") == "text":
        return str(block.get("text") or "")
    return ""


def _piece(data: Any) -> Iterator[RunEvent]:
    if not isinstance(data, list) or len(data) != 2:
        return
    message, metadata = data
    if not isinstance(message, Mapping) or message.get("type") not in ASSISTANT or _hidden(metadata):
        return
    text = text_of(message.get("content"))
    if text:
        yield Text(str(message.get("id") or ""), text)


def _hidden(metadata: Any) -> bool:
    if not isinstance(metadata, Mapping):
        return False
    nested = "|" in str(metadata.get("langgraph_checkpoint_ns") or "")
    return nested or not HIDDEN_TAGS.isdisjoint(metadata.get("tags") or ())


def _updates(data: Any) -> Iterator[RunEvent]:
    if not isinstance(data, Mapping):
        return
    repeated = _repeated(data)
    for node, update in data.items():
        if node == "__interrupt__":
            yield from _interrupts(update)
        else:
            for change in update if isinstance(update, list) else [update]:
                if isinstance(change, Mapping):
                    yield from _change(change)
                    if not repeated and (used := usage_in(change.get("usage"))) is not None:
                        yield Used(used)


def _repeated(data: Mapping[str, Any]) -> bool:
    """Whether a step's changes are told again because its run, or its attempt, went on from there."""
    about = data.get("__metadata__")
    return isinstance(about, Mapping) and bool(about.get("cached"))


def usage_in(found: Any) -> Usage | None:
    """The tokens that a part of the state or of metadata tells of; None where it does not say."""
    if not isinstance(found, Mapping):
        return None
    told = [found.get(name) for name in COUNTS]
    counts = [count for count in told if isinstance(count, int) and 0 <= count <= MOST_TOKENS]
    return Usage(*counts) if len(counts) == len(COUNTS) else None


def _change(change: Mapping[str, Any]) -> Iterator[RunEvent]:
    messages = change.get("messages")
    if isinstance(messages, Mapping):
        messages = messages.get("value", [messages])
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping):
            yield from _message(message)
    yield from todos(change)
    paths = change.get("artifacts")
    if isinstance(paths, list) and paths:
        yield Presented(tuple(str(path) for path in paths))
    if joined := _steered(change):
        yield Joined(joined)


def _steered(found: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids of the messages that joined a run, in a part of the state."""
    steered = found.get("steered")
    ids = steered.get("ids") if isinstance(steered, Mapping) else None
    return tuple(str(one) for one in ids) if isinstance(ids, list) else ()


def _message(message: Mapping[str, Any]) -> Iterator[RunEvent]:
    if message.get("type") in ASSISTANT:
        text, identity = text_of(message.get("content")), str(message.get("id") or "")
        if text or identity:
            yield Said(identity, text)
        yield from _called(message)
        yield from tool_calls(message)
    elif message.get("type") in TOOL:
        yield from _returned(message)
        yield from tool_result(message)


def _called(message: Mapping[str, Any]) -> Iterator[Called]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and call.get("id"):
            yield Called(str(call["id"]), str(call.get("name") or ""), call.get("args"))


def _returned(message: Mapping[str, Any]) -> Iterator[Returned]:
    if message.get("tool_call_id"):
        failed = message.get("status") == "error"
        text = text_of(message.get("content"))
        yield Returned(str(message["tool_call_id"]), str(message.get("name") or ""), text, failed)


def _interrupts(value: Any) -> Iterator[RunEvent]:
    for interrupt in value if isinstance(value, list) else ():
        if isinstance(interrupt, Mapping):
            yield Interrupted(str(interrupt.get("id") or ""), interrupt.get("value"))


def _failure(data: Any) -> Failed:
    if isinstance(data, Mapping):
        return Failed(str(data.get("error") or "Error"), str(data.get("message") or ""))
    return Failed("Error", str(data))


def open_interrupts(state: Mapping[str, Any]) -> set[str]:
    """The ids of the interrupts that a thread's state waits on."""
    found = [event for task in _tasks(state) for event in _interrupts(task.get("interrupts"))]
    return {event.id for event in found if isinstance(event, Interrupted)}


def _tasks(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [task for task in state.get("tasks") or () if isinstance(task, Mapping)]


def answer_in(state: Mapping[str, Any], message_ids: Iterable[str]) -> Answer:
    """What a thread's state says about the messages with these ids."""
    values = state.get("values")
    values = values if isinstance(values, Mapping) else {}
    messages = [message for message in values.get("messages") or () if isinstance(message, Mapping)]
    steered = _steered(values)
    own = _since(messages, set(message_ids), steered)
    texts, joins = _said_in(own, steered)
    tasks = _tasks(state)
    interrupts = [found for task in tasks for found in _interrupts(task.get("interrupts"))]
    errors = [str(task.get("error")) for task in tasks if task.get("error")]
    first = interrupts[0] if interrupts else None
    return Answer(
        texts=tuple(texts),
        artifacts=tuple(str(path) for path in values.get("artifacts") or ()),
        interrupt=first if isinstance(first, Interrupted) else None,
        error=errors[0] if errors else "",
        joins=joins,
        calls=tuple(_calls_in(own)),
    )


def _since(
    messages: Sequence[Mapping[str, Any]], asked: Collection[str], steered: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """These messages and what followed, up to the next one of a person that did not join them."""
    first = next((at for at, one in enumerate(messages) if str(one.get("id")) in asked), len(messages))
    own = {*asked, *steered}
    for at, message in enumerate(messages[first:], first):
        if message.get("type") in HUMAN and str(message.get("id") or "") not in own:
            return messages[first:at]
    return messages[first:]


def _said_in(
    messages: Sequence[Mapping[str, Any]], steered: Sequence[str]
) -> tuple[list[str], tuple[Join, ...]]:
    """What the assistant said, and what joined it where."""
    texts: list[str] = []
    places = dict.fromkeys(steered, 0)
    for message in messages:
        identity = str(message.get("id") or "")
        if identity in places:
            places[identity] = len(texts)
        elif message.get("type") in ASSISTANT and (text := text_of(message.get("content"))):
            texts.append(text)
    return texts, tuple(Join(one, after) for one, after in places.items())


def _calls_in(messages: Sequence[Mapping[str, Any]]) -> Iterator[Called | Returned]:
    for message in messages:
        if message.get("type") in ASSISTANT:
            yield from _called(message)
        elif message.get("type") in TOOL:
            yield from _returned(message)
