"""Checks of every tool call: allowed, denied, or decided by a person."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import interrupt

from agent.core.model_request import Handler, Request, Response, change_request
from agent.core.paths import VIRTUAL_ROOT
from agent.core.run_context import RunContext
from agent.errors import redact_line
from agent.guardrails.approval_scope import identify_call, is_covered, working_directory
from agent.guardrails.forbidden_commands import COMMAND_ARGUMENTS, ForbiddenCommands
from agent.guardrails.providers import (
    Allow,
    AllowlistProvider,
    Ask,
    Decision,
    Deny,
    GuardrailProvider,
    NamesAskedTools,
    ToolRequest,
)
from agent.middleware.tool_calls import Result, ToolHandler
from agent.shared.approval_words import APPROVE, IS_DENIED, IS_REJECTED, REJECT, is_plain_no, is_yes
from agent.shared.envelope import (
    MessageEnvelope,
    parse_envelopes,
    plain_text,
    render_envelope,
    unescape_text,
)
from agent.skills.skill import SkillScope

log = structlog.get_logger(__name__)
SECONDS = 10.0
WORKSPACE = f"{VIRTUAL_ROOT}/workspace"
FORBIDDEN = "this command is refused whoever approves it ({rule})"
CHANGED = "The approval was for another call, so this one was not made. Make the call again to ask again."
SEARCHED_INLINE = 2000
"""Largest number of characters of arguments that are searched for commands on the event loop."""
DENIED = "Not allowed: {reason}. Don't try to get around this; continue without it, or tell the person."
REJECTED = "A person rejected this call. Continue without it, or ask what they want instead."
LONGEST = 2000
ASKS = "People are asked to approve calls of this tool, so don't ask them yourself before."
LOOK = " To look at files, use {names}, without approval."
COMMAND, LOOKING = "bash", ("ls", "read_file")
_NOT_HERE = Deny("this tool is switched off for this chat or person", "tool_denied")
_OTHER_SKILL = Deny("this skill is switched off for this chat or person", "skill_denied")
_UNDECIDED = Deny("the permission check for this call failed", "guardrail_failed")


class GuardrailMiddleware(AgentMiddleware[Any, Any]):
    """Lets `provider` decide on every tool call (allows all calls without a provider).

    A tool that the run's context denies is neither offered nor called. With `skills`, files of other skills
    are not opened. A command that `forbidden` finds is refused before anyone is asked.

    A denial becomes an error result with the reason. A question becomes an interrupt whose value has `type`
    "approval", `question`, `options`, `tool`, `args`, `call_id`, `directory` (of a command), `covers` (the
    identity of the call with its arguments and working directory) and `remember` (an approval may apply to
    later calls of the tool: then the run's context has the tool in `approved`, and nobody is asked). The call
    is made if it is resumed with "approve" or another plain yes, and with the same `covers` if the answer has
    one; anything else rejects it and is passed to the model. An exception, a decision that takes longer than
    `seconds` and an invalid decision deny the call.

    The description of a tool says that people are asked, if the provider knows it beforehand. Hooks:
    `wrap_tool_call`, around retries and the tool itself; `wrap_model_call` for the descriptions, which are
    the same in all conversations.
    """

    def __init__(
        self,
        *,
        provider: GuardrailProvider | None = None,
        seconds: float = SECONDS,
        forbidden: ForbiddenCommands | None = None,
        skills: SkillScope | None = None,
    ) -> None:
        super().__init__()
        self._forbidden = forbidden or ForbiddenCommands()
        self._skills = skills
        self._provider = provider or AllowlistProvider()
        self._seconds = seconds

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        context = RunContext.of(request.runtime)
        if context.denied_tools:
            offered = [one for one in request.tools if not context.denies(_name_of(one))]
            request = change_request(request, tools=offered)
        names = [tool.name for tool in request.tools if isinstance(tool, BaseTool)]
        asking = self._find_asking(names)
        if not asking:
            return await handler(request)
        look = [f"`{name}`" for name in LOOKING if name in names and name not in asking]
        shown = [
            _add_note(tool, look) if isinstance(tool, BaseTool) and tool.name in asking else tool
            for tool in request.tools
        ]
        return await handler(change_request(request, tools=shown))

    def _find_asking(self, names: Sequence[str]) -> frozenset[str]:
        """Return the tools for which the provider requires approval."""
        provider = self._provider
        if not isinstance(provider, NamesAskedTools) or inspect.iscoroutinefunction(provider.asks_for):
            return frozenset()
        try:
            return frozenset(name for name in names if provider.asks_for(name) is True)
        except Exception as error:  # noqa: BLE001 - supervisor: a description is worth no failed run
            detail = redact_line(str(error))
            log.warning("asked_tools_unknown", error=type(error).__name__, detail=detail)
            return frozenset()

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        call = request.tool_call
        context = RunContext.of(request.runtime)  # type: ignore[arg-type]
        decision: Decision
        if context.denies(call["name"]):
            decision = _NOT_HERE
        elif self._skills and isinstance(call["args"], dict) and not self._skills.permits(call["args"]):
            decision = _OTHER_SKILL
        elif rule := await self._find_forbidden(call["args"]):
            decision = Deny(FORBIDDEN.format(rule=rule), "command_forbidden")
        else:
            asked = ToolRequest(call["name"], call["args"], call["id"] or "", context)
            decision = await self._decide_call(asked)
        if isinstance(decision, Deny):
            log.info("tool_denied", tool=call["name"], code=decision.code, user_id=context.user_id)
            denial = _error_result(request, DENIED.format(reason=decision.reason.rstrip(". ")))
            return denial.model_copy(update={"additional_kwargs": {IS_DENIED: True}})
        if not isinstance(decision, Ask) or (decision.remember and call["name"] in context.approved):
            return await handler(request)
        identity = identify_call(call["name"], call["args"], working_directory(request.state))
        where = {"directory": WORKSPACE} if _runs_command(request) else {}
        answer = interrupt({**_approval_request(decision, request), **where, "covers": identity})
        if not is_covered(answer, identity):
            log.warning("approval_of_another_call", tool=call["name"], user_id=context.user_id)
            return _error_result(request, CHANGED)
        if not is_approved(answer):
            result = _error_result(request, REJECTED + _quote_reply(answer))
            return result.model_copy(update={"additional_kwargs": {IS_REJECTED: True}})
        return await handler(request)

    async def _find_forbidden(self, args: Any) -> str:
        """Return the rule that forbids a command in the arguments, or "" if none does."""
        if not isinstance(args, dict):
            return ""
        if sum(len(value) for value in args.values() if isinstance(value, str | list)) <= SEARCHED_INLINE:
            return self._forbidden.find_rule(args)
        return await asyncio.to_thread(self._forbidden.find_rule, args)

    async def _decide_call(self, request: ToolRequest) -> Decision:
        try:
            async with asyncio.timeout(self._seconds):
                decision = await self._ask_provider(request)
        except Exception as error:  # noqa: BLE001 - supervisor: whatever a provider raises denies the call
            detail = redact_line(str(error))
            log.warning("guardrail_failed", tool=request.tool, error=type(error).__name__, detail=detail)
            return _UNDECIDED
        if not isinstance(decision, Allow | Deny | Ask):
            log.warning(
                "guardrail_failed", tool=request.tool, error="no decision", detail=repr(decision)[:80]
            )
            return _UNDECIDED
        return decision

    async def _ask_provider(self, request: ToolRequest) -> Any:
        evaluate = self._provider.evaluate
        if inspect.iscoroutinefunction(evaluate):
            return await evaluate(request)
        decision = await asyncio.to_thread(evaluate, request)
        return await decision if inspect.isawaitable(decision) else decision


def _name_of(tool: Any) -> str:
    return str(tool.name if isinstance(tool, BaseTool) else tool.get("name", ""))


def _add_note(tool: BaseTool, look: Sequence[str]) -> BaseTool:
    """Return the tool with a description that mentions the approval, and alternatives for reading."""
    other = LOOK.format(names=" and ".join(look)) if look and tool.name == COMMAND else ""
    return tool.model_copy(update={"description": f"{tool.description}\n\n{ASKS}{other}"})


def is_approved(answer: Any) -> bool:
    """Return whether the reply to an approval is a yes: a single word, in an envelope or alone."""
    return is_yes(_reply_text(answer))


def _quote_reply(answer: Any) -> str:
    """Return the words of the person who rejected a call, in an envelope that identifies them.

    Words without one are those of a person who is not known: not always the one whom the run works for. A
    plain no of theirs tells nothing more.
    """
    words = _reply_text(answer)
    told = parse_envelopes(_reply(answer))
    if not told and is_plain_no(words):
        return ""
    told = told or [MessageEnvelope("", unescape_text(words))]
    shown = [replace(one, text=one.text[:LONGEST], quotations=()) for one in told if one.text]
    return "".join(f"\n{render_envelope(one)}" for one in shown)


def _reply_text(answer: Any) -> str:
    return plain_text(_reply(answer)).strip()


def _reply(answer: Any) -> str:
    if isinstance(answer, dict):
        answer = answer.get("decision", answer.get("answer"))
    return answer if isinstance(answer, str) else ""


def _approval_request(decision: Ask, request: ToolCallRequest) -> dict[str, Any]:
    call = request.tool_call
    return {
        "type": "approval",
        "question": decision.question,
        "options": [APPROVE, REJECT],
        "tool": call["name"],
        "args": call["args"],
        "call_id": call["id"],
        "remember": decision.remember,
    }


def _runs_command(request: ToolCallRequest) -> bool:
    """Return whether a call runs a command in the thread's folders."""
    args = request.tool_call["args"]
    named = isinstance(args, dict) and any(name in args for name in COMMAND_ARGUMENTS)
    return named and bool(working_directory(request.state))


def _error_result(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
