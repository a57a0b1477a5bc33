"""Load the configured guardrail provider."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.config.errors import format_key
from agent.core.import_string import ImportStringError, import_object
from agent.errors import GuardrailUnavailable
from agent.guardrails.allowlist import AllowlistProvider
from agent.guardrails.decisions import GuardrailProvider, SettingsError

_NO_LIST = (
    "The guardrail is switched on, but it has no list: below guardrails.provider write `allowed` (the tools "
    "that may be called), `denied` or `ask`, such as `allowed: [lookup]`; `allowed: []` denies every tool."
)


def load_guardrail(use: str, settings: Mapping[str, Any] | None = None) -> GuardrailProvider:
    """Import `package.module:Class` and create it with the settings as arguments.

    Raises GuardrailUnavailable, which names the problem but no setting's value. An AllowlistProvider without
    any list is refused too, since it would allow everything.
    """
    try:
        found = import_object(use)
    except ImportStringError as error:
        raise GuardrailUnavailable(f"The guardrail can't be loaded: {error}") from error
    made = _make_provider(use, found, settings or {})
    if not callable(getattr(made, "evaluate", None)):
        raise GuardrailUnavailable(f"{use} is no guardrail provider: it has no method evaluate.")
    if isinstance(made, AllowlistProvider) and made.is_empty:
        raise GuardrailUnavailable(_NO_LIST)
    provider: GuardrailProvider = made
    return provider


def _make_provider(use: str, found: Any, settings: Mapping[str, Any]) -> Any:
    at: tuple[str | int, ...] = ()
    try:
        if problem := _check_arguments(found, settings):
            raise SettingsError(problem)
        return found(**settings)
    except SettingsError as error:
        detail, at = str(error).rstrip("."), error.at
    except ValidationError as error:
        details = error.errors(include_url=False)
        detail, at = "; ".join(map(_format_detail, details)), details[0]["loc"]
    except Exception as error:
        detail = type(error).__name__
        raise GuardrailUnavailable(f"The settings of the guardrail {use} don't fit ({detail}).") from error
    end = "" if detail.endswith("?") else "."
    raise GuardrailUnavailable(f"The settings of the guardrail {use} don't fit: {detail}{end}", at=at)


def _format_detail(detail: ErrorDetails) -> str:
    """Format the key and the problem; a message that may hold the value is reduced to its kind."""
    kind = detail["type"]
    if kind in {"missing", "extra_forbidden"}:
        what = {"missing": "is missing", "extra_forbidden": "unknown key"}[kind]
    else:
        what = detail["msg"] if kind.endswith(("_type", "_parsing")) else f"wrong ({kind})"
    return ": ".join(filter(None, (format_key(detail["loc"]), what)))


def _check_arguments(found: Any, settings: Mapping[str, Any]) -> str:
    """Name unknown or missing keys; empty if there are none."""
    taken = inspect.signature(found).parameters.values()
    named = {one.name: one for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in taken)
    unknown = [] if takes_any else [key for key in settings if key not in named]
    missing = [key for key, one in named.items() if one.default is one.empty and key not in settings]
    if not unknown and not missing:
        return ""
    wrong = f"unknown key {', '.join(unknown)}" if unknown else f"missing key {', '.join(missing)}"
    return f"{wrong}; known: {', '.join(named) or 'none'}"
