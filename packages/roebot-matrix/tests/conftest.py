"""One homeserver for all tests; they are skipped only where the package matrix-synapse is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synapse import PYTHON, Synapse, synapse

from bot.testing.conformance import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """Run a homeserver until the last test has ended."""
    if not PYTHON.exists():
        pytest.skip(f"needs matrix-synapse in {PYTHON} (make test-all installs it)")
    with synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server
