"""A guardrail provider by its name in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from agent.errors import AgentError
from agent.guardrails.decisions import GuardrailProvider


class GuardrailUnavailable(AgentError):
    """The provider that the configuration names can't be made."""


def load_provider(use: str, settings: Mapping[str, Any] | None = None) -> GuardrailProvider:
    """Import `package.module:Class` and make it with the settings as arguments.

    Raises GuardrailUnavailable, which names what is wrong but no setting's value.
    """
    module_name, _, class_name = use.partition(":")
    try:
        made = getattr(import_module(module_name), class_name)(**(settings or {}))
    except ModuleNotFoundError as error:
        raise GuardrailUnavailable(f"The package of the guardrail {use} is missing: {error.name}.") from error
    except AttributeError:
        raise GuardrailUnavailable(f"{module_name} has no {class_name} (use: {use}).") from None
    except (TypeError, ValueError) as error:
        kind = type(error).__name__
        raise GuardrailUnavailable(f"The settings of the guardrail {use} don't fit ({kind}).") from error
    if not callable(getattr(made, "evaluate", None)):
        raise GuardrailUnavailable(f"{use} is no guardrail provider: it has no method evaluate.")
    provider: GuardrailProvider = made
    return provider
