"""The memory of one scope, as its file and the management API hold it.

File format: `{version, lastUpdated, user, history, facts, lastUpdateId}`. Times are ISO 8601 in UTC; "" means
never written.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

VERSION = "1.0"
Category = Literal["preference", "knowledge", "context", "behavior", "goal"]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class DocumentPart(BaseModel):
    """Frozen base model with the camelCase keys of the file. Keys of a newer version are preserved."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
    )


class Summary(DocumentPart):
    """A summary of one to three sentences and the time it was written."""

    summary: str = ""
    updated_at: str = ""


class UserMemory(DocumentPart):
    """Summaries about the person or group of the scope."""

    work_context: Summary = Summary()
    personal_context: Summary = Summary()
    top_of_mind: Summary = Summary()


class HistoryMemory(DocumentPart):
    """Summaries of earlier periods."""

    recent_months: Summary = Summary()
    earlier_context: Summary = Summary()
    long_term_background: Summary = Summary()


class Fact(DocumentPart):
    """A remembered fact. `source` is the id of the thread it comes from, or `manual`."""

    id: str
    content: str
    category: Category = "context"
    confidence: Confidence
    created_at: str
    source: str


class MemoryDocument(DocumentPart):
    """The whole memory of a scope.

    `last_update_id` names the last model update that the document contains ("" for none).
    """

    version: str = VERSION
    last_updated: str = ""
    user: UserMemory = UserMemory()
    history: HistoryMemory = HistoryMemory()
    facts: tuple[Fact, ...] = ()
    last_update_id: str = ""

    @property
    def is_empty(self) -> bool:
        """Return True when there are no facts and no summaries."""
        return not self.facts and not any(one.summary for _, one in self.list_summaries())

    def list_summaries(self) -> list[tuple[str, Summary]]:
        """Return (field name, summary) pairs in the order of the file."""
        parts = (self.user, self.history)
        return [(name, getattr(part, name)) for part in parts for name in type(part).model_fields]
