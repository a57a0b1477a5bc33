"""Translate events of the LangGraph API into run events.

Only assistant text meant for people passes: an allow-list of message types, at the root of the graph,
without the tag by which a graph marks inner model calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from agent.shared.run_identity import NOTE_SOURCE, PRESENTED_FILES
from agent.shared.text import shorten, to_one_line
from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    JoinedMessage,
    MessageJoined,
    MessageText,
    ModelsCalled,
    RemarkRecognized,
    RunEnded,
    RunEvent,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
    ThreadTitled,
    TodosUpdated,
    TokenUsage,
    ToolCall,
    ToolProgress,
    ToolResult,
    UsageReported,
)
from bot.runtime.presented_text import PRESENTING, find_presented, is_presenting
from bot.turn import ModelCall

TODO_STATES = {
    "pending": ProgressState.PENDING,
    "in_progress": ProgressState.ACTIVE,
    "completed": ProgressState.DONE,
}
TIMED_OUT = "task_timed_out"
SUBAGENT_STATES = {
    "task_started": ProgressState.ACTIVE,
    "task_running": ProgressState.ACTIVE,
    "task_completed": ProgressState.DONE,
    "task_failed": ProgressState.FAILED,
    TIMED_OUT: ProgressState.FAILED,
}
_MODEL_CALLS = TypeAdapter(tuple[ModelCall, ...])
TIME_SIGN = " ⏱"
# Tools that people see the effect of: the list itself, the question, the file.
QUESTION = "ask_clarification"
SHOWN_OTHERWISE = PRESENTING | {QUESTION}
DELEGATING = "task"
TITLE_LIMIT = 80


def read_todos(change: Mapping[str, Any]) -> Iterator[TodosUpdated]:
    """Yield the todos that a node wrote to the state's `todos`."""
    found = change.get("todos")
    if not isinstance(found, list):
        return
    items = [
        ProgressItem(f"todo:{index}", _one_line(todo.get("content")), _todo_state(todo))
        for index, todo in enumerate(found)
        if isinstance(todo, Mapping)
    ]
    yield TodosUpdated(tuple(items))


def tool_starts(message: Mapping[str, Any]) -> Iterator[ToolProgress]:
    """Yield the tool calls in an assistant message as started."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and call.get("id") and call.get("name") not in SHOWN_OTHERWISE:
            # A subagent may have to wait for a free slot; an event reports when it starts.
            waits = call.get("name") == DELEGATING
            state = ProgressState.PENDING if waits else ProgressState.ACTIVE
            yield ToolProgress(ProgressItem(str(call["id"]), _call_title(call), state))


def tool_end(message: Mapping[str, Any]) -> Iterator[ToolProgress]:
    """Yield the tool call that a tool message completes."""
    if message.get("tool_call_id") and message.get("name") not in SHOWN_OTHERWISE:
        failed = message.get("status") == "error"
        state = ProgressState.FAILED if failed else ProgressState.DONE
        yield ToolProgress(ProgressItem(str(message["tool_call_id"]), "", state))


def read_subagent(data: Any) -> Iterator[ToolProgress]:
    """Read the progress of a subagent from a custom event: `{"type": "task_started", "task_id",
    "description"}`.

    The id is the tool call's, so that both are one item. One that was stopped for its time says so.
    """
    if not isinstance(data, Mapping) or not data.get("task_id"):
        return
    state = SUBAGENT_STATES.get(str(data.get("type")))
    if state is not None:
        title = _one_line(data.get("description"))
        if title and data.get("type") == TIMED_OUT:
            title += TIME_SIGN
        yield ToolProgress(ProgressItem(str(data["task_id"]), title, state))


def _read_model_calls(data: Any) -> Iterator[ModelsCalled]:
    """Read ended model calls from a custom event: `{"type": "model_calls", "calls": [{"model", …}]}`."""
    if isinstance(data, Mapping) and data.get("type") == "model_calls":
        try:
            yield ModelsCalled(_MODEL_CALLS.validate_python(data.get("calls")))
        except ValidationError:
            return


def _todo_state(todo: Mapping[str, Any]) -> ProgressState:
    return TODO_STATES.get(str(todo.get("status")), ProgressState.PENDING)


def _call_title(call: Mapping[str, Any]) -> str:
    return described_task(call.get("args")) or _one_line(call.get("name"))


def described_task(arguments: Any) -> str:
    """Return the description in the arguments of a call ("" if there is none)."""
    return _one_line(arguments.get("description")) if isinstance(arguments, Mapping) else ""


def _one_line(value: Any) -> str:
    return shorten(to_one_line(value), TITLE_LIMIT) if isinstance(value, str) else ""


ASSISTANT = frozenset({"ai", "AIMessageChunk", "AIMessage"})
HUMAN = frozenset({"human", "HumanMessage"})
TOOL = frozenset({"tool", "ToolMessage"})
COUNTS = ("input_tokens", "output_tokens", "total_tokens")
# No step uses as many; sums of such numbers fit into every database.
MOST_TOKENS = 2**40
CURRENCY_LENGTH = 20
HIDDEN_TAGS = frozenset({"nostream", "langsmith:nostream"})
STREAM_MODES: tuple[Literal["messages-tuple"], Literal["updates"], Literal["custom"]] = (
    "messages-tuple",
    "updates",
    "custom",
)


def translate_event(name: str, data: Any) -> Iterator[RunEvent]:
    """Yield the run events of a server event (none if it is not meant for people)."""
    if name == "messages":
        yield from _read_delta(data)
    elif name == "updates":
        yield from _read_updates(data)
    elif name == "custom":
        yield from read_subagent(data)
        yield from _read_model_calls(data)
    elif name == "metadata":
        yield AttemptStarted(int(data.get("attempt") or 1) if isinstance(data, Mapping) else 1)
    elif name == "error":
        yield _read_failure(data)
    elif name == "gap":
        yield EventsMissing()
    elif name == "end":
        yield RunEnded(str(data.get("status") or "") if isinstance(data, Mapping) else "")


def text_of(content: Any) -> str:
    """Return the visible text of a message's content, which is a string or a list of blocks."""
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


def _read_delta(data: Any) -> Iterator[RunEvent]:
    if not isinstance(data, list) or len(data) != 2:
        return
    message, metadata = data
    if not isinstance(message, Mapping) or message.get("type") not in ASSISTANT or _is_hidden(metadata):
        return
    identity, text = str(message.get("id") or ""), text_of(message.get("content"))
    if text:
        yield TextDelta(identity, text)
    if _is_remark(message):
        yield RemarkRecognized(identity)


def _is_remark(message: Mapping[str, Any]) -> bool:
    """Return whether an assistant message, or a piece of one, contains text in addition to tool calls. A
    question's text is part of the question instead.
    """
    names = _called_tools(message)
    return bool(names) and QUESTION not in names


def _called_tools(message: Mapping[str, Any]) -> set[str]:
    found = [message.get("tool_calls"), message.get("tool_call_chunks")]
    calls = [call for listed in found if isinstance(listed, list) for call in listed]
    return {str(call["name"]) for call in calls if isinstance(call, Mapping) and call.get("name")}


def _is_hidden(metadata: Any) -> bool:
    if not isinstance(metadata, Mapping):
        return False
    nested = "|" in str(metadata.get("langgraph_checkpoint_ns") or "")
    return nested or not HIDDEN_TAGS.isdisjoint(metadata.get("tags") or ())


def _read_updates(data: Any) -> Iterator[RunEvent]:
    if not isinstance(data, Mapping):
        return
    repeated = _is_repeated(data)
    for node, update in data.items():
        if node == "__interrupt__":
            yield from _read_interrupts(update)
        else:
            for change in update if isinstance(update, list) else [update]:
                if isinstance(change, Mapping):
                    yield from _read_change(change)
                    if not repeated and (used := read_usage(change.get("usage"))) is not None:
                        yield UsageReported(used)


def _is_repeated(data: Mapping[str, Any]) -> bool:
    """Return whether a step's changes are repeated because a run or attempt continued from there."""
    about = data.get("__metadata__")
    return isinstance(about, Mapping) and bool(about.get("cached"))


def read_usage(found: Any) -> TokenUsage | None:
    """Return the token usage in a part of the state or metadata, or None if there is none."""
    if not isinstance(found, Mapping):
        return None
    told = [found.get(name) for name in COUNTS]
    counts = [count for count in told if isinstance(count, int) and 0 <= count <= MOST_TOKENS]
    if len(counts) != len(COUNTS):
        return None
    cached, cost, currency = (found.get(name) for name in ("cached_tokens", "cost", "currency"))
    return TokenUsage(
        input_tokens=counts[0],
        output_tokens=counts[1],
        total_tokens=counts[2],
        cached_tokens=cached if isinstance(cached, int) and 0 <= cached <= MOST_TOKENS else 0,
        cost=float(cost) if isinstance(cost, int | float) and 0 <= cost <= MOST_TOKENS else 0.0,
        currency=currency[:CURRENCY_LENGTH] if isinstance(currency, str) else "",
    )


def _read_change(change: Mapping[str, Any]) -> Iterator[RunEvent]:
    messages = change.get("messages")
    if isinstance(messages, Mapping):
        messages = messages.get("value", [messages])
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping):
            yield from _read_message(message)
    yield from read_todos(change)
    if title := _one_line(change.get("title")):
        yield ThreadTitled(title)
    paths = change.get("artifacts")
    if isinstance(paths, list) and paths:
        yield ArtifactsPresented(tuple(str(path) for path in paths))
    if joined := _steered_ids(change):
        yield MessageJoined(joined)


def _steered_ids(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of messages that joined a run, from a part of the state."""
    steered = found.get("steered")
    ids = steered.get("ids") if isinstance(steered, Mapping) else None
    return tuple(str(one) for one in ids) if isinstance(ids, list) else ()


def _read_message(message: Mapping[str, Any]) -> Iterator[RunEvent]:
    if message.get("type") in ASSISTANT:
        text, identity = text_of(message.get("content")), str(message.get("id") or "")
        if text or identity:
            presents = is_presenting(_called_tools(message))
            yield MessageText(identity, text, remark=_is_remark(message), presents=presents)
        yield from _tool_calls(message)
        yield from tool_starts(message)
    elif message.get("type") in TOOL:
        yield from _tool_results(message)
        yield from tool_end(message)


def _tool_calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and call.get("id"):
            yield ToolCall(str(call["id"]), str(call.get("name") or ""), call.get("args"))


def _tool_results(message: Mapping[str, Any]) -> Iterator[ToolResult]:
    if message.get("tool_call_id"):
        failed = message.get("status") == "error"
        text = text_of(message.get("content"))
        yield ToolResult(str(message["tool_call_id"]), str(message.get("name") or ""), text, failed)


def _read_interrupts(value: Any) -> Iterator[RunEvent]:
    for interrupt in value if isinstance(value, list) else ():
        if isinstance(interrupt, Mapping):
            yield RunInterrupted(str(interrupt.get("id") or ""), interrupt.get("value"))


def _read_failure(data: Any) -> RunFailed:
    if isinstance(data, Mapping):
        category = str(data.get("category") or "")
        kind = ":".join(filter(None, [str(data.get("error") or "Error"), category[:TITLE_LIMIT]]))
        return RunFailed(kind, str(data.get("message") or ""))
    return RunFailed("Error", str(data))


def open_interrupts(state: Mapping[str, Any]) -> set[str]:
    """Return the ids of the open interrupts in a thread's state."""
    found = [event for task in _read_tasks(state) for event in _read_interrupts(task.get("interrupts"))]
    return {event.id for event in found if isinstance(event, RunInterrupted)}


def _read_tasks(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [task for task in state.get("tasks") or () if isinstance(task, Mapping)]


def read_answer(state: Mapping[str, Any], message_ids: Iterable[str]) -> ThreadAnswer:
    """Read the answer to the messages with these ids from a thread's state."""
    values = state.get("values")
    values = values if isinstance(values, Mapping) else {}
    messages = [message for message in values.get("messages") or () if isinstance(message, Mapping)]
    steered = _steered_ids(values)
    own = _messages_of_turn(messages, set(message_ids), steered)
    said = [message for message in own if message.get("type") in ASSISTANT]
    presented = _find_presented(said)
    texts, joins = _texts_and_joins(own, steered, presented)
    is_remark = bool(said) and _is_remark(said[-1]) and str(said[-1].get("id") or "") not in presented
    tasks = _read_tasks(state)
    interrupts = [found for task in tasks for found in _read_interrupts(task.get("interrupts"))]
    errors = [str(task.get("error")) for task in tasks if task.get("error")]
    first = interrupts[0] if interrupts else None
    artifacts = tuple(str(path) for path in values.get("artifacts") or ())
    return ThreadAnswer(
        texts=tuple(texts),
        artifacts=artifacts,
        presented=tuple(path for path in _presented_paths(own) if path in artifacts),
        interrupt=first if isinstance(first, RunInterrupted) else None,
        error=errors[0] if errors else "",
        joins=joins,
        calls=tuple(_tool_history(own)),
        remark=text_of(said[-1].get("content")) if is_remark else "",
    )


def _messages_of_turn(
    messages: Sequence[Mapping[str, Any]], asked: Collection[str], steered: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """Return these messages and all that follow, up to the next message of a person that did not join them.

    The agent's own notes, such as a summary within the turn, are human messages too.
    """
    first = next((at for at, one in enumerate(messages) if str(one.get("id")) in asked), len(messages))
    own = {*asked, *steered}
    for at, message in enumerate(messages[first:], first):
        if _is_from_person(message) and str(message.get("id") or "") not in own:
            return messages[first:at]
    return messages[first:]


def _is_from_person(message: Mapping[str, Any]) -> bool:
    extra = message.get("additional_kwargs")
    return message.get("type") in HUMAN and not (isinstance(extra, Mapping) and NOTE_SOURCE in extra)


def _find_presented(said: Iterable[Mapping[str, Any]]) -> Collection[str]:
    """Return the ids of assistant messages that present content and whose text is part of the answer."""
    presented: list[str] = []
    texts: dict[str, str] = {}
    closing = ""
    for message in said:
        identity, text = str(message.get("id") or ""), text_of(message.get("content"))
        calls = _called_tools(message)
        if not calls:
            closing = text or closing
        elif is_presenting(calls) and identity:
            presented, texts[identity], closing = [*presented, identity], text, ""
        else:
            presented = []
    return find_presented(presented, texts, closing)


def _texts_and_joins(
    messages: Sequence[Mapping[str, Any]], steered: Sequence[str], presented: Collection[str]
) -> tuple[list[str], tuple[JoinedMessage, ...]]:
    """Return the assistant's texts, and the joined messages with their positions."""
    texts: list[str] = []
    places = dict.fromkeys(steered, 0)
    for message in messages:
        identity = str(message.get("id") or "")
        if identity in places:
            places[identity] = len(texts)
        elif message.get("type") in ASSISTANT and (not _is_remark(message) or identity in presented):
            texts += filter(None, [text_of(message.get("content"))])
    return texts, tuple(JoinedMessage(one, after) for one, after in places.items())


def _tool_history(messages: Sequence[Mapping[str, Any]]) -> Iterator[ToolCall | ToolResult]:
    for message in messages:
        if message.get("type") in ASSISTANT:
            yield from _tool_calls(message)
        elif message.get("type") in TOOL:
            yield from _tool_results(message)


def _presented_paths(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the files presented in tool results."""
    for message in messages:
        about = message.get("artifact") if message.get("type") in TOOL else None
        paths = about.get(PRESENTED_FILES) if isinstance(about, Mapping) else None
        yield from (path for path in (paths if isinstance(paths, list) else ()) if isinstance(path, str))
