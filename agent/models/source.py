"""Where the models come from: the configuration, reloaded when it changes, else what is found at hand."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from agent.config.errors import ConfigErrors, UnsetVariable
from agent.config.loader import load_agent_config
from agent.config.models import AgentConfig, ModelEntry
from agent.config.reader import find_config
from agent.errors import ModelUnavailable
from agent.importing import NotImported, Problem, look_in
from agent.models import ollama
from agent.models.discovery import OllamaProbe, discover
from agent.models.resolve import check_settings, load_class
from agent.models.spec import Catalog, ModelSpec

log = structlog.get_logger(__name__)
CHECK_SECONDS = 1.0
DISCOVER_SECONDS = 30.0
_NOT_THERE_YET = {Problem.PACKAGE, Problem.UNKNOWN}
_Stamp = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class _Loaded:
    stamp: _Stamp | None
    config: AgentConfig


class ModelSource:
    """The catalogue of models, current and cheap to ask for.

    The file is looked at once a second at most; one that can't be read keeps the last good one. Without
    configured models the environment is looked through again every half minute, so that an Ollama that is
    started later is seen. `overrides` are laid over the file; without `read_file` they are all there is.
    """

    def __init__(
        self,
        config_path: Path | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
        read_file: bool = True,
        environ: Mapping[str, str] = os.environ,
        cwd: Path | None = None,
        probe: OllamaProbe = ollama.find,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config_path = config_path
        self._overrides = overrides
        self._read_file = read_file
        self._environ = environ
        self._cwd = cwd
        self._probe = probe
        self._clock = clock
        self._loaded: _Loaded | None = None
        self._catalog: Catalog | None = None
        self._check_at = self._discover_at = -math.inf

    def load(self) -> AgentConfig:
        """Read the configuration now. Blocking; raises ConfigErrors, whatever was good before stays.

        From then on modules are looked for beside the file, too.
        """
        found = load_agent_config(
            self._config_path,
            self._environ,
            self._where(),
            overrides=self._overrides,
            read_file=self._read_file,
        )
        stamp = _stamp(found.path)
        if found.path is not None:
            look_in(found.path.parent.resolve())
        if self._loaded is None or self._loaded.config != found.config:
            self._catalog = None
        self._loaded = _Loaded(stamp, found.config)
        return found.config

    def check(self) -> None:
        """Check the overrides by themselves, without any file. Raises ConfigErrors.

        Variables that are not set (yet) are left to `load`.
        """
        try:
            load_agent_config(None, self._environ, Path(), overrides=self._overrides, read_file=False)
        except ConfigErrors as error:
            if not all(isinstance(one, UnsetVariable) for one in error.errors):
                raise

    def expire(self) -> None:
        """Look at the file, and for models at hand, the next time that anything is asked."""
        self._check_at = self._discover_at = -math.inf

    def verify(self) -> None:
        """Load the configuration and the class of every configured model, to stop a start that can't work.

        Blocking. A missing package does not stop the start: it is named when the model is used. Raises
        ConfigErrors, or ModelUnavailable for a `use:` that names no chat model, or a key that it does not
        know.
        """
        for entry in self.load().models:
            try:
                check_settings(_spec(entry), load_class(entry.use))
            except ModelUnavailable as error:
                cause = error.__cause__
                if isinstance(cause, NotImported) and cause.problem in _NOT_THERE_YET:
                    log.warning("model_package_missing", model=entry.name, detail=str(error))
                    continue
                raise

    async def config(self) -> AgentConfig:
        """The current configuration. Raises ConfigErrors when there never was a good one."""
        now = self._clock()
        if self._loaded is None:
            await asyncio.to_thread(self.load)
            self._check_at = now + CHECK_SECONDS
        elif now >= self._check_at:
            self._check_at = now + CHECK_SECONDS
            await asyncio.to_thread(self._refresh)
        assert self._loaded is not None
        return self._loaded.config

    async def catalog(self) -> Catalog:
        """The models that can be chosen now. The same object as long as nothing changed."""
        config = await self.config()
        if config.models:
            if self._catalog is None:
                self._catalog = configured(config)
            return self._catalog
        now = self._clock()
        if self._catalog is None or now >= self._discover_at:
            self._discover_at = now + DISCOVER_SECONDS
            found = await discover(self._environ, probe=self._probe)
            if found != self._catalog:
                self._catalog = found
                log.info("models_found", names=found.names, reason=found.reason)
        assert self._catalog is not None
        return self._catalog

    def _where(self) -> Path:
        return self._cwd if self._cwd is not None else Path.cwd()

    def _refresh(self) -> None:
        assert self._loaded is not None
        if not self._read_file:
            return
        try:
            path = find_config(self._config_path, self._environ, self._where())
            if _stamp(path) == self._loaded.stamp:
                return
            self.load()
            log.info("config_reloaded")
        except ConfigErrors as error:
            log.warning("config_kept", detail=str(error))


def configured(config: AgentConfig) -> Catalog:
    """The catalogue of a configuration's `models`."""
    specs = tuple(_spec(entry) for entry in config.models)
    return Catalog(specs, "It is the first one in the configuration.", config.allow_degradation)


def _spec(entry: ModelEntry) -> ModelSpec:
    return ModelSpec(
        name=entry.name,
        use=entry.use,
        model=entry.model or "",
        display_name=entry.label,
        settings=entry.arguments(),
        supports_thinking=entry.supports_thinking,
        supports_vision=entry.supports_vision,
        supports_reasoning_effort=entry.supports_reasoning_effort,
        supports_tools=entry.supports_tools,
        when_thinking_enabled=entry.arguments(thinking=True) if entry.when_thinking_enabled else {},
    )


def _stamp(path: Path | None) -> _Stamp | None:
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return (str(path), found.st_mtime_ns, found.st_size)
