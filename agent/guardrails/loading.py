"""A guardrail provider by its name in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.errors import GuardrailUnavailable
from agent.guardrails.decisions import GuardrailProvider
from agent.importing import NotImported, imported


def load_provider(use: str, settings: Mapping[str, Any] | None = None) -> GuardrailProvider:
    """Import `package.module:Class` and make it with the settings as arguments.

    Raises GuardrailUnavailable, which names what is wrong but no setting's value.
    """
    try:
        found = imported(use)
    except NotImported as error:
        raise GuardrailUnavailable(f"The guardrail can't be loaded: {error}") from error
    try:
        made = found(**(settings or {}))
    except Exception as error:
        kind = type(error).__name__
        raise GuardrailUnavailable(f"The settings of the guardrail {use} don't fit ({kind}).") from error
    if not callable(getattr(made, "evaluate", None)):
        raise GuardrailUnavailable(f"{use} is no guardrail provider: it has no method evaluate.")
    provider: GuardrailProvider = made
    return provider
