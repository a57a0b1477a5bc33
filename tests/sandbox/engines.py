"""The container engine of this machine, with the options that it needs here."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from agent.sandbox.container import ContainerPool, ContainerSandboxProvider
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.egress.rules import EgressRules
from agent.sandbox.options import IMAGE, SandboxLimits
from agent.sandbox.warm_container import ContainerSetup
from tests.sandbox.sandbox_fixtures import folders

# Without systemd; the storage driver is the one that the engine finds.
PODMAN = "podman --runtime runc --cgroup-manager cgroupfs"


def engine() -> tuple[str, ...]:
    """Its command: ROEBOT_TEST_ENGINE, or podman with options for the barest machine."""
    return tuple(shlex.split(os.environ.get("ROEBOT_TEST_ENGINE") or PODMAN))


def container(
    home: Path,
    limits: SandboxLimits | None = None,
    *,
    idle_seconds: float = 600.0,
    image: str = IMAGE,
    egress: EgressRules | None = None,
    read_only: Mapping[str, Path] | None = None,
    **given: object,
) -> ContainerSandboxProvider:
    """The provider with containers."""
    bounds = limits or SandboxLimits()
    setup = ContainerSetup(engine(), image, home, bounds, EgressProxy(egress) if egress else None)
    boxes = ContainerPool(setup, idle_seconds=idle_seconds, **given)  # type: ignore[arg-type]
    return ContainerSandboxProvider(folders(home), boxes, limits=bounds, read_only=read_only or {})
