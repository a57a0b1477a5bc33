"""Commands in bubblewrap with network access, under the attacks of every provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.interfaces import SandboxProvider
from agent.testing.conformance.attacks import LIMITS
from agent.testing.conformance.attacks_egress import EgressAttacks, EgressSite
from tests.sandbox.sandbox_fixtures import local

pytestmark = pytest.mark.bubblewrap


class TestEgressOfLocal(EgressAttacks):
    @pytest.fixture
    def provider(self, home: Path, site: EgressSite) -> SandboxProvider:
        return local(home, egress=site.rules, limits=LIMITS)
