"""Provide the current models: from the configuration, reloaded on change, or by discovery."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from agent.catalog.preflight import needs_package, refused
from agent.config.errors import ConfigErrors, UnsetVariable
from agent.config.loader import LoadedAgentConfig, load_agent_config
from agent.config.models import AgentConfig, ModelEntry
from agent.config.reader import find_config
from agent.core.import_string import add_import_folder
from agent.core.paths import HOME_VARIABLE
from agent.errors import ModelUnavailable
from agent.models.discovery import OllamaProbe, discover_models, find_ollama
from agent.models.guide_spec import CLASS as GUIDE_CLASS
from agent.models.guide_spec import NAME as GUIDE
from agent.models.guide_spec import guide_spec
from agent.models.local.bundled import CLASS, local_spec
from agent.models.resolve import check_settings, load_model_class
from agent.models.spec import Catalog, ModelSpec, spec_from_entry
from agent.shared.last_good import LastGood, Stamp, file_stamp

log = structlog.get_logger(__name__)
DISCOVER_SECONDS, GUIDE_SECONDS = 30.0, 2.0
"""Seconds between discoveries, and while only the guide answers."""


class ModelSource:
    """The current model catalogue and configuration, cheap to query.

    The file is checked at most once a second; if it is invalid, the last good configuration stays in force.
    Without configured models, discovery runs again every 30 s and so finds an Ollama started later; every 2 s
    while only the guide answers.
    `overrides` take precedence over the file; without `read_file` they are the whole configuration.
    """

    def __init__(
        self,
        config_path: Path | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
        read_file: bool = True,
        environ: Mapping[str, str] = os.environ,
        cwd: Path | None = None,
        probe: OllamaProbe = find_ollama,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config_path = config_path
        self._overrides = overrides
        self._read_file = read_file
        self._environ = environ
        self._cwd = cwd
        self._probe = probe
        self._clock = clock
        self._file: Path | None = None
        self._catalog: Catalog | None = None
        self._catalog_config: AgentConfig | None = None
        self._discover_at = -math.inf
        self._good = LastGood[LoadedAgentConfig, ConfigErrors](
            self._read, self._read_stamp, error=ConfigErrors, name="config", log=log, clock=clock
        )

    @property
    def config_file(self) -> Path | None:
        """Return the configuration file that was read last; None if there is none."""
        return self._file

    @property
    def refusal(self) -> ConfigErrors | None:
        """Return why the current file is not in force; None if it is."""
        return self._good.problem

    def load(self) -> AgentConfig:
        """Read the configuration now. Blocking; raises ConfigErrors, and the last good one stays in force.

        From then on modules are also imported from the folder of the file.
        """
        return self._good.load().config

    def _read(self, current: LoadedAgentConfig | None) -> LoadedAgentConfig:
        """Read the file. Raises ConfigErrors if `current` must stay in force."""
        found = load_agent_config(
            self._config_path,
            self._environ,
            self._cwd or Path.cwd(),
            overrides=self._overrides,
            read_file=self._read_file,
            # Some editors truncate a file before they write it.
            may_be_empty=current is None or current.config == AgentConfig(),
            home=self._home,
        )
        self._file = found.path
        if found.path is not None:
            add_import_folder(found.path.parent.resolve())
        if current is not None and (wrong := refused(found)) and not refused(current):
            raise ConfigErrors(wrong)
        return found

    def _read_stamp(self) -> Stamp | None:
        if not self._read_file:
            return None
        return file_stamp(find_config(self._config_path, self._environ, self._cwd or Path.cwd(), self._home))

    @property
    def _home(self) -> Path | None:
        """The data directory of the service that started this process, which looks for its file there too."""
        home = self._environ.get(HOME_VARIABLE)
        return Path(home) if home else None

    def check(self) -> None:
        """Validate the overrides without the file. Raises ConfigErrors.

        Unset variables are reported by `load`.
        """
        try:
            load_agent_config(None, self._environ, Path(), overrides=self._overrides, read_file=False)
        except ConfigErrors as error:
            if not all(isinstance(one, UnsetVariable) for one in error.errors):
                raise

    def expire(self) -> None:
        """Check the file and discover models again on the next query."""
        self._good.expire()
        self._discover_at = -math.inf

    def verify(self) -> LoadedAgentConfig:
        """Load the configuration and the class of every configured model, to fail early. Blocking.

        A missing package does not stop the start; it is reported when the model is used. Raises ConfigErrors,
        or ModelUnavailable if `use:` names no chat model or a setting is unknown.
        """
        found = self._good.load()
        for entry in found.config.models:
            try:
                check_settings(spec_from_entry(entry), load_model_class(entry.use))
            except ModelUnavailable as error:
                if needs_package(error):
                    log.warning("model_package_missing", model=entry.name, detail=str(error))
                    continue
                raise
        return found

    async def config(self) -> AgentConfig:
        """Return the current configuration. Raises ConfigErrors if there was never a valid one."""
        return (await self.loaded()).config

    async def loaded(self) -> LoadedAgentConfig:
        """Return the current configuration with its file. Raises as `config` does."""
        return await self._good.current()

    async def catalog(self) -> Catalog:
        """Return the selectable models: the same object while nothing changes."""
        config = await self.config()
        if config is not self._catalog_config:
            if config != self._catalog_config:
                self._catalog = None
            self._catalog_config = config
        if config.models:
            if self._catalog is None:
                self._catalog = configured_catalog(config)
            return self._catalog
        now = self._clock()
        if self._catalog is None or now >= self._discover_at:
            found = await discover_models(self._environ, probe=self._probe)
            has_model = found.specs[0].source != GUIDE
            self._discover_at = now + (DISCOVER_SECONDS if has_model else GUIDE_SECONDS)
            if found != self._catalog:
                self._catalog = found
                log.info("models_found", names=found.names, reason=found.reason)
        assert self._catalog is not None
        return self._catalog


_sources: dict[Path, ModelSource] = {}


def register_source(home: Path, source: ModelSource) -> ModelSource:
    """Register `source` as this process's configuration of a data directory."""
    _sources[home] = source
    return source


def find_source(home: Path) -> ModelSource:
    """Return the registered source of a data directory, else a new one with the default file search."""
    return _sources.get(home) or ModelSource()


def configured_catalog(config: AgentConfig) -> Catalog:
    """Return the catalogue of a configuration's `models`."""
    specs = tuple(_entry_spec(entry) for entry in config.models)
    return Catalog(specs, "It is the first model in the configuration.", config.allow_degradation)


def _entry_spec(entry: ModelEntry) -> ModelSpec:
    """Return the spec of an entry; the guide and the small model keep their limits under any name."""
    spec = spec_from_entry(entry)
    if entry.use not in {CLASS, GUIDE_CLASS}:
        return spec
    card = local_spec() if entry.use == CLASS else guide_spec()
    return replace(
        card,
        name=spec.name,
        source=spec.source,
        settings=spec.settings,
        display_name=entry.display_name or card.display_name,
    )
