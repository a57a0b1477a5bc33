"""What is remembered in one scope, as its file and the management methods have it.

Files: `{version, lastUpdated, user, history, facts, lastUpdateId}`; times are ISO 8601 in UTC, "" where
nothing was written yet.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

VERSION = "1.0"
Category = Literal["preference", "knowledge", "context", "behavior", "goal"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class DocumentPart(BaseModel):
    """Frozen, with the keys of the file; a key of a newer version stays."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
    )


class Summary(DocumentPart):
    """One to three sentences, and when they were written."""

    summary: str = ""
    updated_at: str = ""


class UserMemory(DocumentPart):
    """Whom or what the scope is about."""

    work_context: Summary = Summary()
    personal_context: Summary = Summary()
    top_of_mind: Summary = Summary()


class HistoryMemory(DocumentPart):
    """What went before."""

    recent_months: Summary = Summary()
    earlier_context: Summary = Summary()
    long_term_background: Summary = Summary()


class Fact(DocumentPart):
    """One thing that is known; `source` is the id of the thread that it comes from, or `manual`."""

    id: str
    content: str
    category: Category = "context"
    confidence: Confidence
    created_at: str
    source: str


class MemoryDocument(DocumentPart):
    """All of a scope. `last_update_id` names the last update by the model that is in it ("" for none)."""

    version: str = VERSION
    last_updated: str = ""
    user: UserMemory = UserMemory()
    history: HistoryMemory = HistoryMemory()
    facts: tuple[Fact, ...] = ()
    last_update_id: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered."""
        return not self.facts and not any(one.summary for _, one in self.list_summaries())

    def list_summaries(self) -> list[tuple[str, Summary]]:
        """The summaries with the names of their fields, in the order of the file."""
        parts = (self.user, self.history)
        return [(name, getattr(part, name)) for part in parts for name in type(part).model_fields]
