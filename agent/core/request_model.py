"""Request bodies shared by the embedded client and the HTTP API."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.errors import Invalid


class RequestModel(BaseModel):
    """A request body; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, parts: Any) -> Self:
        """Validate plain data. Raises Invalid, naming the field that does not fit."""
        try:
            return cls.model_validate(parts)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            raise Invalid(f"{where}: {first['msg']}") from None
