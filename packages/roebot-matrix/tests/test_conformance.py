"""The adapter passes the published kit on a real homeserver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from driver import MatrixDriver, matrix
from synapse import Synapse, User

from roebot_testing.conformance import AdapterConformance


@pytest.fixture(scope="module")
def people(homeserver: Synapse) -> tuple[User, User]:
    """Ann and Ben."""
    return homeserver.register("ann"), homeserver.register("ben")


class TestMatrix(AdapterConformance):
    @pytest.fixture
    def platform(self, homeserver: Synapse, people: tuple[User, User]) -> Iterator[MatrixDriver]:
        with matrix(homeserver, *people) as driver:
            yield driver
