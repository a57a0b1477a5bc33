"""Keeps a model from starting more subagents at once than may run."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware

from agent.middleware.answers import Handler, Request, Response, answer_of, with_answer, without_calls

MOST = 3
TASK = "task"


class SubagentLimitMiddleware(AgentMiddleware[Any, Any]):
    """Cuts the `task` calls of one answer beyond `most`; the first ones stay, and those of other tools.

    What is cut was never called, so nothing dangles: with the results of the others in view, the model
    starts what is left. Hook: `wrap_model_call`, so that the calls never get into the state.
    """

    def __init__(self, *, most: int = MOST, tool: str = TASK) -> None:
        """Raises ValueError for a limit below 1."""
        super().__init__()
        if most < 1:
            raise ValueError(f"At least one subagent has to be allowed, not {most}.")
        self._most = most
        self._tool = tool

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model and cut its answer."""
        response = await handler(request)
        answer = answer_of(response)
        tasks = [call["id"] for call in answer.tool_calls if call["name"] == self._tool] if answer else []
        if answer is None or len(tasks) <= self._most:
            return response
        return with_answer(response, without_calls(answer, tasks[self._most :]))
