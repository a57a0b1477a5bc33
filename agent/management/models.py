"""Manage models: list and test them, and report problems of the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agent.catalog.source import ModelSource
from agent.config.extensions_file import ExtensionsSource
from agent.core.schemas import ModelProbe
from agent.management.check.models import probe_model
from agent.management.check.report import report
from agent.shared.management import ModelOperations, operation
from agent.shared.schemas import ConfigReport, ModelInfo, ModelList


class ModelManagement(ModelOperations):
    """Models of a configuration."""

    def __init__(
        self,
        home: Path,
        source: ModelSource,
        extensions: ExtensionsSource,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._home, self._source, self._extensions, self._environ = home, source, extensions, environ

    async def list_models(self) -> ModelList:
        return (await self._source.catalog()).describe_all()

    @operation("POST", "/api/models/{name:path}/probe")
    async def probe_model(self, name: str) -> ModelProbe:
        """Send a test prompt to a model."""
        catalog = await self._source.catalog()
        return await probe_model(catalog.pick(name), failing=catalog.failing)

    @operation("GET", "/api/models/{name:path}")
    async def get_model(self, name: str) -> ModelInfo:
        """Return a model."""
        catalog = await self._source.catalog()
        return catalog.describe(catalog.pick(name))

    async def list_config_problems(self) -> ConfigReport:
        self._source.expire()
        return await report(self._source, self._home, self._environ, self._extensions)
