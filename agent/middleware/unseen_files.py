"""Ask the model about new files in the outputs folder that people would never see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent.core.interfaces import SandboxError
from agent.core.state import ThreadState, sum_usage
from agent.errors import ModelCallFailed
from agent.middleware.model_response import (
    Handler,
    Request,
    Response,
    get_answer,
    messages_since_user,
    open_calls,
    with_update,
    without_calls,
)
from agent.models.visible_output import VisibleOutput
from agent.tools.sandbox import OUTPUTS, find_sandbox, outputs_path, present_files

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


class UnseenFilesMiddleware(AgentMiddleware[Any, Any]):
    """Asks the model once, before an answer ends the turn, about files that it neither presented nor linked.

    The files are those directly in outputs that are new or changed since the last turn with tools, without
    hidden ones and those that a tool's result stored there; a folder in it holds what a script left. The
    question and its answer are not stored or streamed. If the model presents files, that call is stored
    before the answer, which waits in `held_answer` and is not written again. A turn without tools costs
    nothing. Hook: `wrap_model_call`, inside what reads the last answer, such as titles and memory.
    """

    state_schema = ThreadState

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model, and ask it about files if its answer ends the turn."""
        held: AIMessage | None = request.state.get("held_answer")  # type: ignore[assignment]
        if held is not None and isinstance(request.messages[-1], ToolMessage):
            return with_update(ModelResponse(result=[held]), held_answer=None)
        # With a held answer here, somebody wrote in between: the model answers everything anew.
        dropped = {} if held is None else {"held_answer": None}
        shown = VisibleOutput()
        with shown.watch_attempt():
            response = await handler(request)
        answer = get_answer(response)
        files = None
        if answer is not None and not answer.tool_calls and response.structured_response is None:
            files = await _list_outputs(request)
        if answer is None or files is None:
            return with_update(response, **dropped) if dropped else response
        update: dict[str, Any] = {**dropped, "outputs": files}
        names = find_unseen(files, request.state, answer.text)
        if not names:
            return with_update(response, **update)
        log.info("files_unseen", count=len(names))
        with shown.watch_attempt():
            asked = await _ask_about(names, request, answer, handler)
        chosen = _keep_presenting(asked)
        if chosen is not None:
            return with_update(chosen, **update, held_answer=answer)
        if asked is not None and (usage := sum_usage(asked.result)):
            update["usage"] = usage
        return with_update(response, **update)


def find_unseen(files: Mapping[str, int], state: Mapping[str, Any], text: str) -> list[str]:
    """Return the names of new files that neither the turn nor the text of its answer has shown."""
    messages: Sequence[AnyMessage] = state["messages"]
    turn = messages_since_user(messages)
    known: Mapping[str, int] | None = state.get("outputs")
    if known is None:
        # An earlier version has not recorded what its turns left in the folder.
        earlier = messages[: len(messages) - len(turn)]
        known = files if any(isinstance(one, ToolMessage) for one in earlier) else {}
    shown = set(_presented_paths(turn))
    before = set(state.get("artifacts") or ())
    results = "\n".join(str(one.content) for one in turn if isinstance(one, ToolMessage))
    linked = unquote(text)
    unseen = []
    for name, size in files.items():
        path = f"{OUTPUTS}/{name}"
        is_shown = path in shown or (name not in known and path in before)
        is_linked = f"outputs/{name}" in linked or f"]({name})" in linked
        if known.get(name) != size and not is_shown and not is_linked and f"stored in {path}" not in results:
            unseen.append(name)
    return unseen


def _presented_paths(messages: Iterable[AnyMessage]) -> Iterable[str]:
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            paths = call["args"].get("paths") if call["name"] == present_files.name else None
            yield from (outputs_path(path) for path in paths or () if isinstance(path, str))


async def _list_outputs(request: Request) -> dict[str, int] | None:
    """Return the sizes of the visible files by name; None if no tool ran or nothing can be presented."""
    sandbox = find_sandbox()
    ran = any(isinstance(one, ToolMessage) for one in messages_since_user(request.state["messages"]))
    offered = any(isinstance(tool, BaseTool) and tool.name == present_files.name for tool in request.tools)
    if sandbox is None or not ran or not offered:
        return None
    try:
        entries = await sandbox.list_dir(OUTPUTS)
    except SandboxError:
        return None
    return {one.name: one.size for one in entries if not one.is_dir and not one.name.startswith(".")}


async def _ask_about(
    names: Sequence[str], request: Request, answer: AIMessage, handler: Handler
) -> Response | None:
    """Return the model's response to the question; None if it fails, since the answer must not be lost."""
    listed = ", ".join(" ".join(name[:NAME].split()) for name in names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    note = HumanMessage(NOTE.format(names=f"{listed}{more}"), additional_kwargs={"lc_source": "unseen_files"})
    try:
        return await handler(request.override(messages=[*request.messages, answer, note]))
    except ModelCallFailed as error:
        log.info("files_question_failed", category=error.category)
        return None


def _keep_presenting(response: Response | None) -> Response | None:
    """Return the response with nothing but its calls of present_files; None without any."""
    answer = get_answer(response) if response is not None else None
    if response is None or answer is None:
        return None
    presenting = [call["id"] for call in open_calls(response) if call["name"] == present_files.name]
    if not presenting:
        return None
    others = [call["id"] for call in answer.tool_calls if call["id"] not in presenting]
    bare = without_calls(answer, others).model_copy(update={"invalid_tool_calls": []})
    if isinstance(bare.content, str):
        bare = bare.model_copy(update={"content": ""})
    return replace(response, result=[bare])
