"""Limits on the model calls and tokens of a subagent.

LangChain's ModelCallLimitMiddleware has no warning and adds two steps to each turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AIMessage

from agent.core.model_request import Handler, Request, with_note
from agent.core.state import ThreadState
from agent.middleware.model_response import with_update
from agent.subagents.kinds import BudgetSpent

WARN_SHARE = 0.8
"""The share of the tokens after which the subagent is asked to finish."""
WARN_TURNS = 3
"""The number of last turns in which the subagent is told how many are left."""
SOURCE = "subagent_budget"
FEW = """[System notice] You have {left} turns left, with this one. Do the most important part of the rest,
and answer with the result in the last one at the latest."""
LAST = """[System notice] This is your last turn: your {spent} are almost used up. Call no more tools. Answer
now with the result so far, and say what is left to do."""


class SubagentState(ThreadState):
    """The state of a subagent; `turns` is the number of its model calls, also after its summaries."""

    turns: NotRequired[int]


class SubagentBudget(AgentMiddleware[Any, Any]):
    """Asks a subagent to finish when its turns or tokens are almost exhausted, and stops it afterwards.

    Tokens are counted as providers report them, in the channel `usage`, turns in the channel `turns`, since
    a summary removes earlier answers. Hook: `wrap_model_call`, outermost, so that no middleware takes the end
    for a failure of the model. Raises BudgetSpent.
    """

    state_schema = SubagentState

    def __init__(self, *, turns: int, tokens: int | None = None) -> None:
        """`tokens` None means no limit."""
        super().__init__()
        self._turns, self._tokens = turns, tokens

    async def awrap_model_call(self, request: Request, handler: Handler) -> ExtendedModelResponse[Any]:
        state: Mapping[str, Any] = request.state
        # A subagent that an earlier version stored while it waited has no count.
        turns = state.get("turns") or sum(isinstance(message, AIMessage) for message in state["messages"])
        tokens = int((state.get("usage") or {}).get("total_tokens") or 0)
        if turns >= self._turns:
            raise BudgetSpent(f"{self._turns} turns")
        if self._tokens is not None and tokens >= self._tokens:
            raise BudgetSpent(f"{self._tokens:,} tokens")
        if notice := self._find_notice(turns, tokens):
            # At the end, so that providers can reuse the cached part before it.
            request = with_note(request, notice, SOURCE)
        return with_update(await handler(request), turns=turns + 1)

    def _find_notice(self, turns: int, tokens: int) -> str:
        """Return the notice for the next call, or "" if there is none."""
        left = self._turns - turns
        if self._tokens is not None and tokens >= WARN_SHARE * self._tokens:
            return LAST.format(spent=f"{self._tokens:,} tokens")
        if left == 1:
            return LAST.format(spent=f"{self._turns} turns")
        return FEW.format(left=left) if left <= WARN_TURNS and turns else ""
