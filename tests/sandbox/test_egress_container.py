"""Commands in containers with network access, under the attacks of every provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.core.interfaces import SandboxProvider
from agent.testing.conformance.attacks import LIMITS
from agent.testing.conformance.attacks_egress import EgressAttacks, EgressSite
from tests.sandbox.engines import container

pytestmark = [pytest.mark.container, pytest.mark.timeout(300)]


class TestEgressOfContainers(EgressAttacks):
    @pytest_asyncio.fixture
    async def provider(self, home: Path, site: EgressSite) -> AsyncIterator[SandboxProvider]:
        made = container(home, LIMITS, egress=site.rules)
        yield made
        await made.close()
