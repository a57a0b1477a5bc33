"""What callers give when they write facts themselves; shared by the embedded client and the HTTP API."""

from __future__ import annotations

from pydantic import ConfigDict

from agent.core.memory_document import Category, Confidence
from agent.core.schemas import RequestModel


class FactBody(RequestModel):
    """What of a fact is to be changed; None leaves a part as it is."""

    model_config = ConfigDict(strict=True)
    content: str | None = None
    category: Category | None = None
    confidence: Confidence | None = None


class NewFactBody(FactBody):
    """A fact to add."""

    content: str
    category: Category = "context"
    confidence: Confidence = 1.0
