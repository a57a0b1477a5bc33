"""The model that keeps memories, as the configuration names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from agent.catalog.source import ModelSource
from agent.core.hidden_calls import internal_config
from agent.models.spec import Catalog


class ExtractionModel:
    """Asks `memory.model_name`, or the default model; none of its tokens reaches a stream."""

    def __init__(self, source: ModelSource, make_model: Callable[..., BaseChatModel]) -> None:
        self._source = source
        self._make_model = make_model
        self._cached: tuple[Catalog, str, BaseChatModel] | None = None

    async def ask(self, messages: Sequence[BaseMessage]) -> BaseMessage:
        """The model's answer. Raises AgentError, ConfigErrors, or what the provider raises."""
        config, catalog = await self._source.config(), await self._source.catalog()
        spec = catalog.pick(config.memory.model_name)
        if self._cached is None or self._cached[0] is not catalog or self._cached[1] != spec.name:
            self._cached = (catalog, spec.name, await asyncio.to_thread(self._make_model, spec))
        return await self._cached[2].ainvoke(list(messages), internal_config("memory"))
