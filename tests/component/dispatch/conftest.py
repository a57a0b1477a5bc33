"""The bench as a fixture."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.component.dispatch.bench import Bench, bench


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    """A dispatcher's bench, not yet running."""
    async with bench(tmp_path) as made:
        yield made
