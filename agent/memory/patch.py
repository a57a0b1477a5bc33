"""What a model says has to change in a memory: its whole answer is one JSON object, or none of it counts."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from agent.core.memory_document import Category

_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n?```", re.DOTALL)


class InvalidAnswer(ValueError):
    """The answer is not the object that was asked for; the text tells the model what is wrong with it."""


class _PatchPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)


class UserPatch(_PatchPart):
    """New summaries; None leaves one as it is, "" empties it."""

    work_context: StrictStr | None = None
    personal_context: StrictStr | None = None
    top_of_mind: StrictStr | None = None


class HistoryPatch(_PatchPart):
    """New summaries; None leaves one as it is, "" empties it."""

    recent_months: StrictStr | None = None
    earlier_context: StrictStr | None = None
    long_term_background: StrictStr | None = None


class FactDraft(_PatchPart):
    """A fact to add."""

    content: StrictStr
    category: Category
    confidence: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


class MemoryPatch(_PatchPart):
    """The whole answer. `remove` are ids of facts that do not hold any more."""

    user: UserPatch = UserPatch()
    history: HistoryPatch = HistoryPatch()
    add: tuple[FactDraft, ...] = ()
    remove: tuple[StrictStr, ...] = ()


def parse_patch(answer: str) -> MemoryPatch:
    """The change that an answer holds, in a code fence or not. Raises AnswerRefused."""
    text = _THOUGHT.sub("", answer).strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1]
    try:
        return MemoryPatch.model_validate_json(text)
    except ValidationError as error:
        raise InvalidAnswer(
            "; ".join(_describe_error(one) for one in error.errors(include_url=False)[:5])
        ) from None


def _describe_error(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "the answer"
    return f"{where}: {error['msg']}"
