"""Discovery of features, which register in the entry point group `roebot.features`.

A feature of another package is code that somebody installed in addition to Roebot, and is trusted like Roebot
itself. One that can't be used is skipped, with a reason. None replaces a built-in feature or command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points

from sqlalchemy import Connection, Table

from bot.commands.core_commands import build_registry
from bot.commands.registry import Command, Registry
from bot.config.platforms import describe_failure
from bot.dispatch.run.hooks import MakeHooks
from bot.feature import Feature
from bot.store import Database
from bot.store.person_data import PersonData
from bot.texts import add_texts
from bot.wiring import Core

GROUP, OWN = "roebot.features", "roebot"
"""The group of entry points, and the package that the built-in ones come from."""


@dataclass(frozen=True, slots=True)
class RefusedFeature:
    """A feature that can't be used, and the reason."""

    name: str
    package: str
    problem: str

    @property
    def complaint(self) -> str:
        """Return one line that names the package and its problem."""
        return f"the feature {self.name} from the package {self.package} can't be used: {self.problem}"


@dataclass(frozen=True, slots=True)
class InstalledFeatures:
    """The installed features by name, and those that can't be used."""

    usable: Sequence[Feature]
    refused: Sequence[RefusedFeature] = ()

    @property
    def commands(self) -> list[Command]:
        """Return the commands of all features."""
        return [command for feature in self.usable for command in feature.commands]

    @property
    def run_hooks(self) -> list[MakeHooks]:
        """Return the factories of run hooks."""
        return [feature.run_hooks for feature in self.usable if feature.run_hooks]

    @property
    def person_data(self) -> list[PersonData]:
        """Return the person data of all features."""
        return [feature.person_data for feature in self.usable if feature.person_data]

    @property
    def tables(self) -> list[Table]:
        """Return the tables of all features."""
        return [table for feature in self.usable for table in feature.tables]

    async def create_tables(self, db: Database) -> None:
        """Create features' tables that are missing from the database."""
        if self.tables:
            await db.schema(partial(create_missing_tables, self.tables))

    def add_parts(self, core: Core) -> None:
        """Create the parts of all features."""
        core.person_data = self.person_data
        for feature in self.usable:
            for make in feature.parts:
                core.add_part(make(core))


@cache
def load_features() -> InstalledFeatures:
    """Load the features and add their texts to the catalogues, once in a process."""
    usable: dict[str, Feature] = {}
    refused: list[RefusedFeature] = []
    points = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    for point in sorted(points.values(), key=lambda point: (_package(point) != OWN, point.name, point.value)):
        try:
            usable[point.name] = _load(point, usable)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - others' code, which must not stop this service
            version = f" {point.dist.version}" if point.dist else ""
            refused.append(RefusedFeature(point.name, f"{_package(point)}{version}", describe_failure(error)))
    return InstalledFeatures(tuple(usable.values()), tuple(refused))


def installed_commands() -> Registry:
    """Return the registry of all installed commands."""
    return build_registry(load_features().commands)


def create_missing_tables(tables: Sequence[Table], connection: Connection) -> None:
    """Create the tables that a database lacks."""
    for table in tables:
        table.create(connection, checkfirst=True)


def _load(point: EntryPoint, others: dict[str, Feature]) -> Feature:
    """Load one feature. Raises ValueError if it conflicts with another one."""
    feature = point.load()
    if not isinstance(feature, Feature) or feature.name != point.name:
        raise ValueError(f"its entry point is not a bot.feature.Feature with the name {point.name}")
    if point.name in others:
        raise ValueError("another package provides it; uninstall all but one")
    known = build_registry([command for one in others.values() for command in one.commands])
    if taken := [command.name for command in feature.commands if known.get(command.name)]:
        raise ValueError(f"the command /{taken[0]} exists already")
    add_texts(feature.texts)
    return feature


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "?"
