"""From a description of a model to a chat model that can be called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from agent.errors import ModelUnavailable
from agent.importing import NotImported, imported
from agent.models.errors import scrubbed
from agent.models.http import open_client
from agent.models.patience import bounded
from agent.models.spec import ModelSpec

log = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 120.0
CHUNK_SECONDS = 60.0
NAME_KEY = "roebot_model"


def load_class(use: str) -> type[BaseChatModel]:
    """Import `package.module:Class`.

    Raises ModelUnavailable: it can't be imported (the cause is a NotImported), or is not a chat model.
    """
    try:
        found = imported(use)
    except NotImported as error:
        raise ModelUnavailable(str(error)) from error
    if not (isinstance(found, type) and issubclass(found, BaseChatModel)):
        raise ModelUnavailable(f"{use} is not a chat model: expected a subclass of BaseChatModel.")
    return found


def build(spec: ModelSpec, *, thinking: bool = False, effort: str | None = None) -> BaseChatModel:
    """The chat model, with time-outs and no retries of its own unless its settings say otherwise. Blocking.

    Raises ModelUnavailable; its text holds no setting's value.
    """
    chosen = load_class(spec.use)
    model = {"model": spec.model} if spec.model else {}
    settings = {**_defaults(chosen), **model, **spec.settings}
    if thinking:
        settings |= spec.when_thinking_enabled
    if effort is not None:
        settings["reasoning_effort"] = effort
    try:
        made = chosen(**settings)
        bounded(made)
        return named(made, spec.name)
    except ValidationError as error:
        where = ", ".join(sorted({".".join(map(str, part["loc"])) or "settings" for part in error.errors()}))
        raise ModelUnavailable(
            f'The model "{spec.name}" has settings that {spec.use} refuses: {where}.'
        ) from None
    except Exception as error:  # noqa: BLE001 - supervisor: a foreign class may raise anything; it is named
        detail = scrubbed(f"{type(error).__name__}: {error}")
        log.warning("model_not_made", model=spec.name, detail=detail)
        raise ModelUnavailable(f'The model "{spec.name}" can\'t be made by {spec.use} ({detail}).') from None


def named(model: BaseChatModel, name: str) -> BaseChatModel:
    """The model, which now knows by which name it is configured; traces of its calls show it too."""
    model.metadata = {**(model.metadata or {}), NAME_KEY: name}
    return model


def name_of(model: object) -> str | None:
    """The name by which the model is configured, if it knows it."""
    metadata = getattr(model, "metadata", None)
    return metadata.get(NAME_KEY) if isinstance(metadata, Mapping) else None


def _defaults(chosen: type[BaseChatModel]) -> Mapping[str, Any]:
    accepted = set(chosen.model_fields)
    accepted.update(field.alias for field in chosen.model_fields.values() if field.alias)
    offered = {
        # Who calls it tries again: see agent.models.attempts.
        "max_retries": 0,
        "timeout": TIMEOUT_SECONDS,
        "stream_chunk_timeout": CHUNK_SECONDS,
        "http_async_client": open_client(),
    }
    return {name: value for name, value in offered.items() if name in accepted and value is not None}
