"""Options of a single run, read from `config["configurable"]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MODEL_HEADER = "x-model"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Requested options; None and False mean the model's default (for subagents: the configured one)."""

    model_name: str | None = None
    thinking: bool = False
    effort: str | None = None
    plan_mode: bool = False
    subagents: bool | None = None
    agent_name: str | None = None
    steerable: bool = False

    @classmethod
    def of(cls, configurable: Mapping[str, Any]) -> RunOptions:
        """Read `model_name` (or the header `X-Model`), `thinking_enabled`, `reasoning_effort`,
        `is_plan_mode`, `subagent_enabled`, `agent_name` and `steerable`.
        """
        return cls(
            model_name=_as_text(configurable.get("model_name")) or _as_text(configurable.get(MODEL_HEADER)),
            thinking=configurable.get("thinking_enabled") is True,
            effort=_as_text(configurable.get("reasoning_effort")),
            plan_mode=configurable.get("is_plan_mode") is True,
            subagents=_as_flag(configurable.get("subagent_enabled")),
            agent_name=_as_text(configurable.get("agent_name")),
            steerable=configurable.get("steerable") is True,
        )


def _as_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
