"""Delegation to subagents, with a limit on the number of tasks per answer."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware

from agent.core.interfaces import SubagentRunner
from agent.core.model_request import Handler, Request, Response
from agent.middleware.model_response import open_calls, refuse_calls, with_system
from agent.subagents.kinds import TASK
from agent.subagents.tool import make_task_tool

AT_ONCE = 3
MOST = 12
PROMPT = """# Subagents
You can delegate self-contained tasks of several steps to subagents with the tool `{tool}`. Do
small tasks yourself. Call the tool several times in one response for tasks that don't depend on each other:
{at_once} subagents work at once, further ones wait for a free place, and one response starts at most {most}.
Other calls of a response don't wait for them. People see what each subagent does."""
NOT_RUN = "Not run: one response starts at most {most} subagents. Call it again when these have finished."


class SubagentLimitMiddleware(AgentMiddleware[Any, Any]):
    """Runs up to `most` calls of `task` per answer, and all calls of other tools.

    The results of further ones say that they were not run. With a `runner` that has kinds, which runs
    `at_once` subagents at the same time, it brings the tool too, and the prompt explains it. Hook:
    `wrap_model_call`, so that those results are stored with the answer.
    """

    def __init__(
        self,
        *,
        most: int = MOST,
        at_once: int = AT_ONCE,
        tool: str = TASK,
        runner: SubagentRunner | None = None,
    ) -> None:
        """Raises ValueError for a limit below 1."""
        super().__init__()
        if most < 1:
            raise ValueError(f"The limit must allow at least one subagent, not {most}.")
        self._most = max(most, at_once) if runner is not None else most
        self._tool = tool
        can_delegate = runner is not None and bool(runner.kinds)
        if runner is not None and can_delegate:
            self.tools = [make_task_tool(runner)]
        self._prompt = PROMPT.format(tool=tool, at_once=at_once, most=self._most) if can_delegate else ""

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        if self._prompt:
            request = with_system(request, self._prompt)
        response = await handler(request)
        tasks = [call for call in open_calls(response) if call["name"] == self._tool]
        if len(tasks) <= self._most:
            return response
        return refuse_calls(response, tasks[self._most :], NOT_RUN.format(most=self._most))
