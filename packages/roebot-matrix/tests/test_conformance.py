"""The adapter passes the published kit on a real homeserver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from driver import MatrixDriver, matrix
from synapse import Synapse

from bot.testing.conformance import AdapterConformance


class TestMatrix(AdapterConformance):
    @pytest.fixture
    def platform(self, homeserver: Synapse) -> Iterator[MatrixDriver]:
        with matrix(homeserver) as driver:
            yield driver
