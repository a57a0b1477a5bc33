"""A query to the model about new files in the outputs folder that people would never see.

Models write "attached" and forget the call. Subfolders don't count, since scripts leave parts there. The
answer keeps the id under which it was streamed, so people don't see it twice. A forgotten file costs a model
call.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent.core.interfaces import SandboxError
from agent.core.model_request import (
    AnyResponse,
    Handler,
    Request,
    Response,
    change_request,
    is_from_person,
    with_note,
)
from agent.core.run_meter import Phase, current_meter
from agent.core.state import ThreadState, sum_usage
from agent.errors import ModelCallFailed
from agent.middleware.answer_calls import list_calls, without_calls
from agent.middleware.model_response import get_answer, open_calls, with_update
from agent.middleware.run_limits import estimate_call
from agent.models.visible_output import VisibleOutput, replace_message
from agent.shared.approval_words import IS_DENIED, IS_REJECTED
from agent.shared.output_links import list_linked_outputs
from agent.tools.sandbox import NOT_SHOWN, OUTPUTS, find_sandbox, outputs_path, present_files

log = structlog.get_logger(__name__)
NAMED = 10
"""Files that the note names."""
NAME = 100
"""Characters of a name that the note shows."""
NOTE = (
    "Note of the service: these files in the outputs folder are new, and your answer neither presents nor "
    "links them, so people don't get them: {names}. If they should, call present_files with them now; "
    'otherwise write "done". Your answer stands, so don\'t repeat it.'
)
NOT_PRESENTED = (
    "Note of the service: people have seen your answer above, but not all files could be presented, as the "
    "result of present_files says. {remedy} the whole answer again so that it is true."
)
ANOTHER_WAY, REFUSED = "Present them another way, or write", "Write"
_PRINT = re.compile("[0-9a-f]{8}")
MAX_FILES = 1_000
"""A folder with more files holds what a script left, like a folder in it."""


class UnseenFilesMiddleware(AgentMiddleware[Any, Any]):
    """Asks the model once, before an answer completes the turn, about files that it neither presented nor
    linked.

    The files are those directly in outputs that are new or changed since the last turn with tools, without
    hidden ones and those that a tool's result stored there; a folder in it holds what a script left. The
    question and its answer are not stored or streamed. If the model presents files, that call is stored
    before the answer, which waits in `held_answer` and is not written again, unless presenting fails: then
    another answer replaces it. Nothing is asked at the limits of the run. A turn without tools costs nothing.
    Hook: `wrap_model_call`, inside what reads the last answer, such as titles and memory.
    """

    state_schema = ThreadState

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        held: AIMessage | None = request.state.get("held_answer")  # type: ignore[assignment]
        if held is not None and isinstance(request.messages[-1], ToolMessage):
            given, unstored = await _give_held_answer(held, request, handler)
            return with_update(given, held_answer=None, **_count_usage(unstored))
        # If an answer is held here, a person wrote in the meantime: the model answers everything again.
        dropped = {} if held is None else {"held_answer": None, **_count_usage([held])}
        shown = VisibleOutput()
        with shown.watch_attempt():
            response = await handler(request)
        answer = get_answer(response)
        files = None
        if answer is not None and not answer.tool_calls and response.structured_response is None:
            files = await _list_outputs(request)
        if answer is None or files is None:
            return with_update(response, **dropped) if dropped else response
        update: dict[str, Any] = {**dropped, "outputs": take_prints(files)}
        names = find_unseen(files, request.state, answer.text)
        asking = _with_note(request, answer, _render_note(names))
        if not names or not _is_affordable(asking):
            return with_update(response, **update)
        log.info("files_unseen", count=len(names))
        with shown.watch_attempt():
            asked = await _ask_about(asking, handler)
        chosen = _keep_presenting(asked)
        if chosen is not None:
            return with_update(chosen, **update, held_answer=answer)
        unstored = [*([held] if held is not None else []), *(asked.result if asked is not None else [])]
        return with_update(response, **{**update, **_count_usage(unstored)})


def _count_usage(unstored: Iterable[BaseMessage]) -> dict[str, Any]:
    """Return the usage update for answers that are not stored and would not be counted otherwise."""
    usage = sum_usage(unstored)
    return {} if usage is None else {"usage": usage}


async def _give_held_answer(
    held: AIMessage, request: Request, handler: Handler
) -> tuple[Response, Sequence[BaseMessage]]:
    """Return the answer that was held back, or its replacement if files could not be presented; and the
    model's unstored messages.
    """
    failed = _list_failed(request.messages)
    # Another way would evade a person's no, or a rule.
    is_refused = any({IS_REJECTED, IS_DENIED} & one.additional_kwargs.keys() for one in failed)
    note = NOT_PRESENTED.format(remedy=REFUSED if is_refused else ANOTHER_WAY)
    asking = _with_note(request, held, note)
    if not failed or not _is_affordable(asking):
        return ModelResponse(result=[held]), ()
    with VisibleOutput(held.id).watch_attempt() as place:
        response = await _ask_about(asking, handler)
    answer = get_answer(response) if response is not None else None
    if response is None or answer is None or place is None or not (answer.tool_calls or answer.text.strip()):
        return ModelResponse(result=[held]), response.result if response is not None else ()
    return replace_message(response, place), [held]


def _list_failed(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """Return the results of the last calls that did not present every file."""
    last = takewhile(lambda one: isinstance(one, ToolMessage), reversed(messages))
    results = [one for one in last if isinstance(one, ToolMessage)]
    return [one for one in results if one.status == "error" or NOT_SHOWN in one.text]


def _with_note(request: Request, answer: AIMessage, text: str) -> Request:
    answered = change_request(request, messages=[*request.messages, answer])
    return with_note(answered, text, "unseen_files")


def _is_affordable(request: Request) -> bool:
    """Return whether the run's limits allow this call, and tool calls after it."""
    meter = current_meter()
    state = meter.assess(estimate_call(request, meter.limits)) if meter is not None else None
    return state is None or state.phase is Phase.WARNING


def take_prints(files: Mapping[str, int]) -> dict[str, int]:
    """Return file sizes by a hash of each name, since the state stores no names."""
    return {_take_print(name): size for name, size in files.items()}


def _take_print(name: str) -> str:
    return f"{zlib.crc32(name.encode(errors='replace')):08x}"


def _messages_of_turn(state: Mapping[str, Any]) -> Sequence[AnyMessage]:
    """Return the messages after the last one that started a turn; messages that joined it are part of the
    turn.
    """
    messages: Sequence[AnyMessage] = state["messages"]
    joined = frozenset((state.get("steered") or {}).get("ids") or ())
    begun = (at for at, one in enumerate(messages) if is_from_person(one) and one.id not in joined)
    return messages[max(begun, default=-1) + 1 :]


def find_unseen(files: Mapping[str, int], state: Mapping[str, Any], text: str) -> list[str]:
    """Return new files that neither the turn nor its answer's text has shown."""
    messages: Sequence[AnyMessage] = state["messages"]
    turn = _messages_of_turn(state)
    known: Mapping[str, int] | None = state.get("outputs")
    if known is None:
        # An earlier version has not recorded what its turns left in the folder.
        earlier = messages[: len(messages) - len(turn)]
        known = take_prints(files) if any(isinstance(one, ToolMessage) for one in earlier) else {}
    elif not all(map(_PRINT.fullmatch, known)):
        # An earlier version has recorded names.
        known = take_prints(known)
    shown = set(_presented_paths(turn))
    before = set(state.get("artifacts") or ())
    results = "\n".join(str(one.content) for one in turn if isinstance(one, ToolMessage))
    linked = set(list_linked_outputs(text))
    unseen = []
    for name, size in files.items():
        path, mark = f"{OUTPUTS}/{name}", _take_print(name)
        is_shown = path in shown or (mark not in known and path in before)
        if (
            known.get(mark) != size
            and not is_shown
            and path not in linked
            and f"stored in {path}" not in results
        ):
            unseen.append(name)
    return unseen


def _presented_paths(messages: Iterable[AnyMessage]) -> Iterable[str]:
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            paths = call["args"].get("paths") if call["name"] == present_files.name else None
            yield from (outputs_path(path) for path in paths or () if isinstance(path, str))


async def _list_outputs(request: Request) -> dict[str, int] | None:
    """Return the sizes of the visible files by name; None if no tool ran, if nothing can be presented, or if
    the folder has too many files.
    """
    sandbox = find_sandbox()
    ran = any(isinstance(one, ToolMessage) for one in _messages_of_turn(request.state))
    offered = any(isinstance(tool, BaseTool) and tool.name == present_files.name for tool in request.tools)
    if sandbox is None or not ran or not offered:
        return None
    try:
        entries = await sandbox.list_dir(OUTPUTS)
    except SandboxError:
        return None
    files = {one.name: one.size for one in entries if not one.is_dir and not one.name.startswith(".")}
    return files if len(files) <= MAX_FILES else None


def _render_note(names: Sequence[str]) -> str:
    listed = ", ".join(" ".join(name[:NAME].split()) for name in names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return NOTE.format(names=f"{listed}{more}")


async def _ask_about(asking: Request, handler: Handler) -> Response | None:
    """Return the model's response to the question, or None if it fails, since the answer must not be lost."""
    try:
        return await handler(asking)
    except ModelCallFailed as error:
        log.info("files_question_failed", category=error.category)
        return None


def _keep_presenting(response: Response | None) -> Response | None:
    """Return the response reduced to its calls of present_files, or None without any."""
    answer = get_answer(response) if response is not None else None
    if response is None or answer is None:
        return None
    presenting = [call["id"] for call in open_calls(response) if call["name"] == present_files.name]
    if not presenting:
        return None
    bare = without_calls(answer, {call["id"] for call in list_calls(answer)}.difference(presenting))
    if isinstance(bare.content, str):
        bare = bare.model_copy(update={"content": ""})
    return replace(response, result=[bare])
