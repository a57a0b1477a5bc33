"""What the suites over all platforms share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.approval_rooms import Room, room_on
from tests.harness.wires import WIRES


@pytest.fixture(params=list(WIRES))
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    async with room_on(request.param, tmp_path) as made:
        yield made
