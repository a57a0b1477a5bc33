"""The run-time switches that come with a run, in `config["configurable"]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MODEL_HEADER = "x-model"


@dataclass(frozen=True, slots=True)
class Switches:
    """What the caller asks for; None and False mean the model's own way."""

    model_name: str | None = None
    thinking: bool = False
    effort: str | None = None

    @classmethod
    def of(cls, configurable: Mapping[str, Any]) -> Switches:
        """Read `model_name` (or the header `X-Model`), `thinking_enabled` and `reasoning_effort`."""
        name = configurable.get("model_name") or configurable.get(MODEL_HEADER)
        effort = configurable.get("reasoning_effort")
        return cls(
            model_name=name if isinstance(name, str) else None,
            thinking=configurable.get("thinking_enabled") is True,
            effort=effort if isinstance(effort, str) and effort else None,
        )
