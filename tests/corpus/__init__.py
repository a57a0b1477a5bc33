"""Payloads of messages as the platforms deliver them, one file per content type.

`<platform>/<type>.json` holds what a person sees (`title`), the page or file that shows the shape (`source`),
the payload (`event`), the answers of calls that are needed to read it (`lookups`), and which strings the
agent must and must not read (`reads`, `omits`). The README of each platform names the types that are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sample:
    """A payload and what the agent has to read of it."""

    name: str
    title: str
    source: str
    event: Mapping[str, Any]
    reads: Sequence[str]
    omits: Sequence[str] = ()
    lookups: Mapping[str, Any] = field(default_factory=dict)


def load_samples(platform: str) -> list[Sample]:
    """Return the samples of a platform by name."""
    files = sorted((FOLDER / platform).glob("*.json"))
    return [Sample(name=file.stem, **orjson.loads(file.read_bytes())) for file in files]
