"""Attacks that every sandbox must withstand: on paths, links, the system and its resources.

Subclass the suite. Its `provider` must enforce `LIMITS`, with thread folders below the fixture `home`.
"""

from __future__ import annotations

from agent.sandbox.options import SandboxLimits
from roebot_testing.agent.conformance.attacks_files import FileAttacks
from roebot_testing.agent.conformance.attacks_resources import ResourceAttacks
from roebot_testing.agent.conformance.attacks_system import SystemAttacks

LIMITS = SandboxLimits(
    seconds=20,
    output_bytes=20_000,
    flood_bytes=5_000_000,
    processes=60,
    memory_mb=300,
    disk_mb=40,
    disk_files=2_000,
    free_mb=10,
    scratch_mb=20,
)


class SandboxAttackSuite(FileAttacks, SystemAttacks, ResourceAttacks):
    """All attack suites in one."""


__all__ = ["LIMITS", "SandboxAttackSuite"]
