"""Rules that repair a model's answer before it is stored, in order.

Names are corrected in the stored answer, because providers reject a conversation with an illegal name in it.
Calls without an id, or with that of another call, get a new one before anything is assigned by id.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import structlog
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.tools import BaseTool

from agent.core.loose_json import parse_arguments
from agent.core.valid_text import clean_strings, is_valid_text
from agent.core.written_calls import read_written_calls
from agent.middleware.answer_calls import list_calls, replace_calls, with_ids
from agent.shared.json_text import shorten_text

log = structlog.get_logger(__name__)
LONGEST_NAME = 64
UNNAMED = "unnamed"
UNREADABLE_ARGUMENTS = "unreadable_arguments"
"""The only argument of a stored call whose arguments could not be read."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_NAMESPACE = re.compile(r"[.:/]")


class StreamedArguments(AsyncCallbackHandler):
    """Collects the streamed arguments of tool calls.

    langchain completes arguments that break off, at the provider's token limit or because the model wrote
    invalid JSON, so that they look complete. Only the streamed pieces show it.
    """

    run_inline = True

    def __init__(self) -> None:
        self._chunks: dict[UUID, list[AIMessageChunk]] = defaultdict(list)

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,
    ) -> None:
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
            self._chunks[run_id].append(message)

    def make_reader(self) -> Callable[[ToolCall], str]:
        """Return a function that returns a call's streamed arguments as text, or "" if there are none.

        A call that had no id of its own has got a new one (`with_ids`), so only the order of the last
        answer's calls is left: they have to be read in it.
        """
        texts: dict[str | None, str] = {}
        unnamed: list[str] = []
        for chunks in self._chunks.values():
            unnamed, seen = [], set[str]()
            for piece in add_ai_message_chunks(*chunks).tool_call_chunks:
                if piece["id"] and piece["id"] not in seen:
                    seen.add(piece["id"])
                    texts[piece["id"]] = piece["args"] or ""
                else:
                    unnamed.append(piece["args"] or "")
        others = iter(unnamed)
        return lambda call: texts[call["id"]] if call["id"] in texts else next(others, "")

    def list_ids(self) -> list[str]:
        """Return the ids of the last answer's calls in the order in which they were streamed."""
        chunks = next(reversed(self._chunks.values()), [])
        pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
        return list(dict.fromkeys(piece["id"] for piece in pieces if piece["id"]))


NOT_STREAMED = StreamedArguments()
"""The arguments of an answer that nobody watched; nothing is added to them."""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Facts about an answer: the names of the offered tools, and its streamed arguments."""

    tools: Collection[str]
    streamed: StreamedArguments


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """A repair of one kind of fault. It returns the same answer if there is none.

    `event` is logged with the names of the tools whose calls have changed; "" logs nothing.
    """

    repair: Callable[[AIMessage, AnswerFacts], AIMessage]
    event: str = ""


def repair_answer(rules: Sequence[AnswerRule], answer: AIMessage, facts: AnswerFacts) -> AIMessage:
    """Return the answer repaired by each rule in turn; the same answer if it has no fault."""
    for rule in rules:
        repaired = rule.repair(answer, facts)
        if repaired is not answer and rule.event:
            changed = {call["name"] for call in repaired.tool_calls if call not in answer.tool_calls}
            log.info(rule.event, tools=sorted(changed))
        answer = repaired
    return answer


def clean_texts(message: Any) -> Any:
    """Return the message without lone surrogates, which no request can contain."""
    names = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")
    parts = {name: value for name in names if (value := getattr(message, name, None))}
    return message if is_valid_text(parts) else message.model_copy(update=clean_strings(parts))


def read_calls(answer: AIMessage, facts: AnswerFacts) -> AIMessage:
    """Return the answer with calls in place of their textual form at its end (`agent.core.written_calls`)."""
    if list_calls(answer) or not facts.tools:
        return answer
    found = read_written_calls(answer.text, facts.tools)
    if found is None:
        return answer
    calls = [tool_call(name=name, args=args, id=f"call_{uuid4().hex[:24]}") for name, args in found.calls]
    return answer.model_copy(update={"content": found.text, "tool_calls": calls})


def read_arguments(answer: AIMessage, facts: AnswerFacts) -> AIMessage:
    """Return the answer with each call classified as valid or invalid by whether its arguments can be parsed.

    Arguments that are complete but no strict JSON, such as a Python literal or a code fence, are read
    (`agent.core.loose_json`); what breaks off is not completed.
    """
    calls: list[ToolCall] = []
    recovered: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for broken in answer.invalid_tool_calls:
        args = parse_arguments(broken["args"] or "")
        if args is None or not broken["name"] or not broken["id"]:
            invalid.append(broken)
        else:
            recovered.append(tool_call(name=broken["name"], args=args, id=broken["id"]))
    read_text = facts.streamed.make_reader()
    for call in answer.tool_calls:
        text = read_text(call)
        if _is_json(text):
            calls.append(call)
        elif (args := parse_arguments(text)) is not None:
            calls.append({**call, "args": args})
        else:
            invalid.append(invalid_tool_call(name=call["name"], args=text, id=call["id"], error="no JSON"))
    if not recovered and calls == answer.tool_calls:
        return answer
    calls = _in_written_order([*calls, *recovered], answer, facts)
    return answer.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})


def keep_unreadable_calls(answer: AIMessage, facts: AnswerFacts) -> AIMessage:
    """Return the answer with its unreadable calls next to the readable ones, so that each call gets a result.

    An unreadable call has one argument, the text that the model wrote, and is not run (`is_unreadable`).
    """
    if not answer.tool_calls or not answer.invalid_tool_calls:
        return answer
    unreadable = [
        tool_call(
            name=find_tool_name(call["name"] or "", facts.tools),
            args={UNREADABLE_ARGUMENTS: shorten_text(call["args"] or "")},
            id=call["id"],
        )
        for call in answer.invalid_tool_calls
    ]
    calls = _in_written_order([*answer.tool_calls, *unreadable], answer, facts)
    return answer.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def is_unreadable(call: ToolCall) -> bool:
    """Return whether a stored call replaces one whose arguments could not be read."""
    return list(call["args"]) == [UNREADABLE_ARGUMENTS]


def _in_written_order(calls: list[ToolCall], answer: AIMessage, facts: AnswerFacts) -> list[ToolCall]:
    """Return the calls in the order in which the model wrote them, as far as the order is known."""
    raw = answer.additional_kwargs.get("tool_calls")
    lists = [one for one in (raw, answer.content) if isinstance(one, list)]
    holders = [holder for one in lists for holder in one]
    ids = facts.streamed.list_ids()
    ids += [str(one.get("call_id") or one.get("id")) for one in holders if isinstance(one, Mapping)]
    places = {one: place for place, one in reversed(list(enumerate(ids)))}
    return sorted(calls, key=lambda call: places.get(call["id"] or "", len(ids)))


def _is_json(args: str) -> bool:
    """Return whether the arguments can be parsed; an empty text means no arguments."""
    try:
        return not args.strip() or isinstance(json.loads(args, strict=False), dict)
    except ValueError:
        return False


def correct_names(answer: AIMessage, tools: Collection[str]) -> AIMessage:
    """Return the answer with each call of an unknown tool renamed to the intended tool, or to a legal name.

    Models add a namespace (`functions.bash`), use another case, or leave tokens of their format in the name
    (`bash<|channel|>commentary`, from gpt-oss). Providers reject a conversation with such a name in it, so it
    must not be stored: OpenAI's API reference allows letters, digits, underscores and dashes, 64 at most.
    """
    calls = [{**call, "name": find_tool_name(call["name"], tools)} for call in answer.tool_calls]
    return replace_calls(answer, [*calls, *answer.invalid_tool_calls])


def find_tool_name(written: str, known: Collection[str]) -> str:
    """Return the intended tool if only one fits; otherwise the name without illegal characters."""
    if written in known:
        return written
    text = written.partition("<|")[0].strip()
    for candidate in (text, _NAMESPACE.split(text)[-1]):
        found = [name for name in known if _plain(name) == _plain(candidate)]
        if len(found) == 1 and _plain(candidate):
            return found[0]
    return _ILLEGAL.sub("_", text).strip("_")[:LONGEST_NAME] or UNNAMED


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def name_of_tool(tool: BaseTool | Mapping[str, Any]) -> str:
    """Return a tool's name, including provider-side tools, which are described as mappings."""
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return str(function.get("name") if isinstance(function, Mapping) else tool.get("name", ""))


AT_THE_MODEL = (
    AnswerRule(lambda answer, _: clean_texts(answer)),
    AnswerRule(read_calls, event="tool_calls_read_from_text"),
    AnswerRule(lambda answer, _: with_ids(answer)),
)
"""Rules that apply close to the model, since all other middleware works with the calls and their ids."""
BEFORE_STORING = (
    AnswerRule(read_arguments),
    AnswerRule(lambda answer, facts: correct_names(answer, facts.tools), event="tool_names_corrected"),
    AnswerRule(keep_unreadable_calls, event="tool_calls_unreadable"),
)
"""Rules that apply around everything that works with calls: an answer without any that can be read is
requested again, and names are looked up among all tools, also those that the model does not see."""
