"""A feature: a self-contained capability of the service in a package of its own.

The kernel knows features only as values of `Feature`. They are found by the entry point group
`roebot.features` (`bot.app.features`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter
from sqlalchemy import Table

from bot.commands.registry import Command
from bot.dispatch.run.hooks import MakeHooks
from bot.store.person_data import PersonData
from bot.wiring import Core

MakePart = Callable[[Core], object]
"""Makes a part of a feature when the service starts. Others find it by its class: `core.part(Class)`."""
Job = Callable[[Core], Coroutine[Any, Any, None]]
"""Works until cancelled; it is restarted after an error."""


@dataclass(frozen=True, slots=True)
class Feature:
    """The contributions of a feature to the service.

    `parts` are made in their order, before the service starts. `tables` are created at the start if the
    database lacks them. `texts` are by language ("en", "zh") and key. `jobs` are by the name of their task;
    of several replicas, one has them. Each replica has its own `local_jobs`.
    `person_data` is what the feature stores about people, for their erasure and export, and for retention.
    """

    name: str
    parts: Sequence[MakePart] = ()
    tables: Sequence[Table] = ()
    commands: Sequence[Command] = ()
    routers: Sequence[APIRouter] = ()
    jobs: Mapping[str, Job] = field(default_factory=dict)
    local_jobs: Mapping[str, Job] = field(default_factory=dict)
    run_hooks: MakeHooks | None = None
    person_data: PersonData | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
