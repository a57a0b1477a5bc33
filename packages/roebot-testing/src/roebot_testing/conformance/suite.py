"""Fixtures of every topic of the suite, and the rule for cases that do not apply."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import PlatformDriver
from roebot_testing.conformance.needs import NOT_APPLICABLE, lacking


@pytest.mark.asyncio
class Suite:
    """A class of cases; its user provides the fixture `platform`, a new driver for each case."""

    @pytest.fixture
    def platform(self) -> PlatformDriver:
        """Return the driver of the platform; to be overridden."""
        raise NotImplementedError("a conformance suite needs a fixture named platform")

    @pytest_asyncio.fixture
    async def idle(self, request: pytest.FixtureRequest, platform: PlatformDriver) -> AsyncIterator[Stage]:
        """Provide an adapter that was not started."""
        stage = Stage(platform)
        reason = lacking(request.function, stage.adapter, platform)
        if reason:
            pytest.skip(f"{NOT_APPLICABLE}{reason}")
        yield stage
        await stage.stop()

    @pytest_asyncio.fixture(name="stage")
    async def live_stage(self, idle: Stage) -> Stage:
        """Provide an adapter that is live."""
        await idle.running.start()
        assert not idle.running.ended, f"it ended at once: {idle.running.error!r}"
        return idle
