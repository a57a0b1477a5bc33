"""Questions by the agent, which wait for a person's answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool
from langgraph.types import interrupt
from pydantic import BeforeValidator

from agent.core.argument_coercion import ALIASES, fit_arguments
from agent.core.model_request import Handler, Request, Response
from agent.middleware.answer_calls import with_ids
from agent.middleware.model_response import get_answer, open_calls, refuse_calls, with_answer
from agent.tools.documented_tool import documented_tool

log = structlog.get_logger(__name__)
NAME = "ask_clarification"
Kind = Literal["missing_info", "ambiguous", "approach_choice", "risk_confirmation", "suggestion"]
DEFAULT_KIND: Kind = "missing_info"
NO_ANSWER = "(no answer)"
NOT_RUN = "Not run: ask_clarification stands alone. Call it again if it still fits after the answer."
_OPTIONS = {"properties": {"options": {"type": ["array", "null"], "items": {"type": "string"}}}}


def choose_kind(value: Any) -> Any:
    """Return the kind, or the default for an unknown kind, which must not lose the question."""
    if value in get_args(Kind):
        return value
    log.info("clarification_kind_unknown")
    return DEFAULT_KIND


def read_options(value: Any) -> list[str] | None:
    """Return the options as distinct texts, given as texts, numbers or objects with a label."""
    found = fit_arguments(_OPTIONS, {"options": value}).args["options"]
    if not isinstance(found, list):
        return None
    texts = (" ".join(one.split()) for one in found if isinstance(one, str))
    return list(dict.fromkeys(filter(None, texts)))


@documented_tool
async def ask_clarification(
    question: str,
    kind: Annotated[Kind, BeforeValidator(choose_kind)] = DEFAULT_KIND,
    options: Annotated[list[str] | None, BeforeValidator(read_options)] = None,
    context: str | None = None,
) -> str:
    """Ask the person a question and wait for the answer, which is the result of this call.

    Use it before you act if important information is missing or ambiguous, if the person should choose
    between several approaches, or before something risky for which no approval is asked anyway. Don't use it
    for anything that you can find out yourself. Call it alone: other calls beside it are not run.

    Args:
        question: One question, in the person's language.
        kind: Why you ask.
        options: Answers to choose from, if any; the person can still give a different answer.
        context: Anything that the person needs to know to answer; shown above the question.
    """
    given = interrupt(
        {
            "type": "clarification",
            "question": question,
            "kind": kind,
            "options": list(options or ()),
            "context": context,
        }
    )
    answer = given.get("answer", given) if isinstance(given, dict) else given
    return str(answer) if answer not in (None, "") else NO_ANSWER


# Idempotent, because asking again only repeats the question with the same interrupt id.
ask_clarification.metadata = {
    "idempotent": True,
    ALIASES: {"options": ["choices", "answers", "suggestions"], "kind": ["clarification_type", "type"]},
}


class ClarificationMiddleware(AgentMiddleware[Any, Any]):
    """Adds the tool `ask_clarification`, which interrupts the run until a person answers.

    The interrupt's value has `type` "clarification", `question`, `kind`, `options` and `context`; it is
    resumed with a text, or a mapping with `answer`. A question stands alone: other calls of the same answer
    are not run, since the person's answer may make them wrong; their results tell the model to repeat them if
    they still fit. Hook: `wrap_model_call`, so that these results are stored with the answer; always the last
    of the chain, so that nothing adds calls after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[BaseTool] = [ask_clarification]

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        response = await handler(request)
        answer = get_answer(response)
        if answer is None or not any(call["name"] == NAME for call in answer.tool_calls):
            return response
        response = with_answer(response, with_ids(answer))
        calls = open_calls(response)
        question = next((call for call in calls if call["name"] == NAME), None)
        if question is None:
            return response
        return refuse_calls(response, [call for call in calls if call is not question], NOT_RUN)


__all__ = ["ClarificationMiddleware", "ask_clarification"]
