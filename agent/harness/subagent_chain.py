"""Middleware of subagents: thread data, sandbox, guardrail, tool errors and token usage."""

from __future__ import annotations

from collections.abc import Mapping

from agent.features import Middleware, RuntimeFeatures
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.token_usage import TokenUsageMiddleware
from agent.middleware.tool_errors import ToolErrorHandlingMiddleware

SHARED = frozenset({"thread_data", "sandbox", "guardrail"})
"""The slots whose middleware the lead agent has in common with its subagents."""


def subagent_chain(features: RuntimeFeatures, given: Mapping[str, Middleware]) -> list[Middleware]:
    """Return the subagents' chain for an agent with these features.

    Subagents work in the lead agent's thread, folders and sandbox, which only the lead agent's run releases.
    Its guardrail, also one of another class, decides about their calls too.
    """
    chain: list[Middleware] = []
    if features.sandbox is not False:
        chain.append(given["thread_data"])
        sandbox = given["sandbox"] if features.sandbox is True else features.sandbox
        if isinstance(sandbox, SandboxMiddleware):
            chain.append(sandbox.for_subagents())
    if features.guardrail is not False:
        chain.append(given["guardrail"] if features.guardrail is True else features.guardrail)
    return [*chain, ToolErrorHandlingMiddleware(), TokenUsageMiddleware()]
