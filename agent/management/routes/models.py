"""Routes of models, the configuration's problems and follow-up suggestions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import orjson
from fastapi import APIRouter, Request
from langchain_core.messages import BaseMessage

from agent.catalog.source import ModelSource
from agent.config.extensions_file import ExtensionsSource
from agent.core.paths import check_thread_id
from agent.core.schemas import ConfigReport, ModelList, ModelProbe, SuggestionList
from agent.errors import Invalid
from agent.harness.suggestions import SuggestionsBody, SuggestionService, to_messages
from agent.management.check.models import probe_model
from agent.management.check.report import report
from agent.management.routes.base import (
    ManagementRoute,
    PageCursor,
    PageLimit,
    management_router,
    select_page,
)
from agent.runtime.http.base import OpenRuntime
from agent.runtime.store.threads import get_thread
from agent.shared.schemas import ModelInfo


class SuggestionRoute(ManagementRoute):
    """A route whose body limit fits a conversation."""

    largest_body = 1024 * 1024


class ModelRoutes:
    """Routes that read the configuration and its models."""

    def __init__(self, home: Path, source: ModelSource, extensions: ExtensionsSource) -> None:
        self._home, self._source, self._extensions = home, source, extensions
        self._suggestions = SuggestionService(source)

    def router(self) -> APIRouter:
        """Return the routes."""
        router = management_router("models", prefix="/api", route_class=SuggestionRoute)
        router.get("/models")(self.list_models)
        router.post("/models/{name:path}/probe")(self.probe_model)
        router.get("/models/{name:path}")(self.get_model)
        router.get("/config/problems")(self.list_config_problems)
        router.post("/threads/{thread_id}/suggestions")(self.suggest_messages)
        return router

    async def list_models(self, limit: PageLimit = None, cursor: PageCursor = "") -> ModelList:
        """List the available models."""
        return select_page((await self._source.catalog()).describe_all(), "models", limit, cursor)

    async def get_model(self, name: str) -> ModelInfo:
        """Return a model."""
        catalog = await self._source.catalog()
        return catalog.describe(catalog.pick(name))

    async def probe_model(self, name: str) -> ModelProbe:
        """Send a test prompt to a model."""
        return await probe_model((await self._source.catalog()).pick(name))

    async def list_config_problems(self) -> ConfigReport:
        """Check the configuration and list its problems."""
        self._source.expire()
        return await report(self._source, self._home, os.environ, self._extensions)

    async def suggest_messages(
        self, request: Request, thread_id: str, body: SuggestionsBody
    ) -> SuggestionList:
        """Suggest follow-up messages."""
        thread_id = check_thread_id(thread_id)
        sent = body.conversation
        messages = await _read_messages(request, thread_id) if sent is None else sent
        return await self._suggestions.suggest(messages, body)


async def _read_messages(request: Request, thread_id: str) -> Sequence[BaseMessage]:
    """Read the messages of a thread. Raises NotFound, or Invalid if this server does not store threads."""
    runtime: OpenRuntime | None = getattr(request.app.state, "runtime", None)
    if runtime is None:
        raise Invalid("messages: required, because this server does not store threads")
    values = (await runtime.database.read(get_thread, thread_id)).values
    state = orjson.loads(values) if values else None
    return to_messages(state.get("messages") or () if isinstance(state, dict) else ())
