"""What callers give when they write facts themselves; shared by the embedded client and the HTTP API."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.errors import Invalid
from agent.memory.document import Category, Confidence


class FactBody(BaseModel):
    """What of a fact is to be changed; None leaves a part as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    content: str | None = None
    category: Category | None = None
    confidence: Confidence | None = None

    @classmethod
    def of(cls, parts: Any) -> Self:
        """The body that plain data stands for. Raises Invalid, naming what does not fit."""
        try:
            return cls.model_validate(parts)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            raise Invalid(f"{where}: {first['msg']}") from None


class NewFactBody(FactBody):
    """A fact to add."""

    content: str
    category: Category = "context"
    confidence: Confidence = 1.0
