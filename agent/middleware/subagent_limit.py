"""Let a model delegate to subagents, and limit the number of tasks per answer."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware

from agent.core.interfaces import SubagentRunner
from agent.middleware.model_response import (
    Handler,
    Request,
    Response,
    get_answer,
    with_answer,
    with_system,
    without_calls,
)
from agent.subagents.kinds import TASK
from agent.subagents.tool import make_task_tool

MOST = 3
PROMPT = """You can hand work to subagents with the tool `{tool}`: pieces that stand by themselves and take
several steps. Do what is small yourself. At most {most} run at once, so call it at most {most} times in one
answer; what is more is cut and never runs. For more pieces of work than that, go in batches: wait for the
results of one answer, then start the next ones in your next answer. People see what each one does."""


class SubagentLimitMiddleware(AgentMiddleware[Any, Any]):
    """Keeps the first `most` calls of `task` in an answer, and all calls of other tools.

    Removed calls were never made, so none dangles: with the other results in view, the model starts the rest.
    With a `runner` it brings the tool too, and the prompt explains it. Hook: `wrap_model_call`, so that
    removed calls never get into the state.
    """

    def __init__(self, *, most: int = MOST, tool: str = TASK, runner: SubagentRunner | None = None) -> None:
        """Raises ValueError for a limit below 1."""
        super().__init__()
        if runner is not None:
            self.tools = [make_task_tool(runner)]
        self._prompt = PROMPT.format(tool=tool, most=most) if runner is not None else ""
        if most < 1:
            raise ValueError(f"At least one subagent has to be allowed, not {most}.")
        self._most = most
        self._tool = tool

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model and limit its answer."""
        if self._prompt:
            request = with_system(request, self._prompt)
        response = await handler(request)
        answer = get_answer(response)
        tasks = [call["id"] for call in answer.tool_calls if call["name"] == self._tool] if answer else []
        if answer is None or len(tasks) <= self._most:
            return response
        return with_answer(response, without_calls(answer, tasks[self._most :]))
