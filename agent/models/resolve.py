"""Construction of chat models from their specs, alone or with fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import signature
from typing import Any

import structlog
from langchain_core.language_models import BaseChatModel
from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo

from agent.core.import_string import ImportStringError, import_object
from agent.errors import ModelUnavailable, redact_line
from agent.models.context_window import set_context_window
from agent.models.errors import limit_own_retries
from agent.models.hidden_reasoning import hide_reasoning
from agent.models.http import open_client, use_per_loop_client
from agent.models.providers import find_class
from agent.models.spec import ModelSpec

log = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 120.0
CHUNK_SECONDS = 60.0
NAME_KEY = "roebot_model"


def load_model_class(use: str) -> type[BaseChatModel]:
    """Import `package.module:Class`.

    Raises ModelUnavailable: it cannot be imported (the cause is an ImportStringError), or is not a chat
    model.
    """
    try:
        found = import_object(use)
    except ImportStringError as error:
        raise ModelUnavailable(str(error)) from error
    if not (isinstance(found, type) and issubclass(found, BaseChatModel)):
        raise ModelUnavailable(f"{use} is not a chat model: expected a subclass of BaseChatModel.")
    return found


def build_model(spec: ModelSpec, *, thinking: bool = False, effort: str | None = None) -> BaseChatModel:
    """Build the chat model with time-outs and without retries unless its settings say otherwise. Blocking.

    Raises ModelUnavailable; its text holds no setting's value.
    """
    chosen = load_model_class(find_class(spec))
    check_settings(spec, chosen)
    model = {"model": spec.model} if spec.model else {}
    settings = {**_default_settings(chosen), **model, **spec.settings}
    if thinking:
        settings |= spec.when_thinking_enabled
    if effort is not None:
        settings["reasoning_effort"] = effort
    try:
        made = use_per_loop_client(hide_reasoning(chosen)(**settings))
        limit_own_retries(made)
        if window := spec.context_window or spec.context_tokens:
            set_context_window(made, window)
        return set_model_name(made, spec.name)
    except ValidationError as error:
        where = ", ".join(sorted({".".join(map(str, part["loc"])) or "settings" for part in error.errors()}))
        raise ModelUnavailable(
            f'The model "{spec.name}" has settings that {spec.use} rejects: {where}.'
        ) from None
    except Exception as error:  # noqa: BLE001 - supervisor: a foreign class may raise anything; it is named
        detail = redact_line(f"{type(error).__name__}: {error}")
        log.warning("model_not_made", model=spec.name, detail=detail)
        raise ModelUnavailable(
            f'The model "{spec.name}" can\'t be created by {spec.use} ({detail}).'
        ) from None


def set_model_name(model: BaseChatModel, name: str) -> BaseChatModel:
    """Record the configured name on the model, so that traces of its calls show it too."""
    model.metadata = {**(model.metadata or {}), NAME_KEY: name}
    return model


def get_model_name(model: object) -> str | None:
    """Return the model's configured name, if recorded."""
    metadata = getattr(model, "metadata", None)
    return metadata.get(NAME_KEY) if isinstance(metadata, Mapping) else None


def check_settings(spec: ModelSpec, chosen: type[BaseChatModel]) -> None:
    """Reject settings that the class does not support, since many classes silently misinterpret them.

    A class that accepts extra fields (pydantic's `extra`) gets them. Raises ModelUnavailable, which names the
    nearest setting but no value.
    """
    if chosen.model_config.get("extra") == "allow":
        return
    known = {*_accepted_settings(chosen), "model"}
    for name in (*spec.settings, *spec.when_thinking_enabled):
        if name not in known:
            told = f'The model "{spec.name}" has the setting {name}, which {spec.use} does not support'
            raise ModelUnavailable(f"{told}{_suggest_setting(name, known)}")


def _suggest_setting(name: str, known: Collection[str]) -> str:
    if near := get_close_matches(name, sorted(known), n=1):
        return f"; did you mean {near[0]}?"
    return "; put settings for the provider under model_kwargs." if "model_kwargs" in known else "."


def _accepted_settings(chosen: type[BaseChatModel]) -> set[str]:
    accepted = {*chosen.model_fields, *signature(chosen.__init__).parameters}
    for field in chosen.model_fields.values():
        accepted.update(name for name in _field_aliases(field) if isinstance(name, str))
    return accepted - {"self", "args", "kwargs", "data"}


def _field_aliases(field: FieldInfo) -> Iterable[object]:
    other = field.validation_alias
    return (field.alias, *(other.choices if isinstance(other, AliasChoices) else (other,)))


def _default_settings(chosen: type[BaseChatModel]) -> Mapping[str, Any]:
    accepted = _accepted_settings(chosen)
    offered = {
        # Who calls it tries again: see agent.models.retry.
        "max_retries": 0,
        "timeout": TIMEOUT_SECONDS,
        "stream_chunk_timeout": CHUNK_SECONDS,
        "http_async_client": open_client(),
    }
    return {name: value for name, value in offered.items() if name in accepted and value is not None}


@dataclass(frozen=True, slots=True)
class FallbackChain:
    """One or more models with their specs. `complete` is False if any had to be skipped."""

    models: Sequence[tuple[ModelSpec, BaseChatModel]]
    complete: bool


def build_fallback_chain(
    specs: Iterable[ModelSpec], make: Callable[[ModelSpec], BaseChatModel]
) -> FallbackChain:
    """Build the models. Blocking. Raises the first ModelUnavailable if none can be built."""
    made: list[tuple[ModelSpec, BaseChatModel]] = []
    failed: list[ModelUnavailable] = []
    for spec in specs:
        try:
            made.append((spec, make(spec)))
        except ModelUnavailable as error:
            failed.append(error)
            log.warning("model_left_out", model=spec.name, detail=str(error))
    if not made:
        raise failed[0]
    return FallbackChain(made, not failed)
