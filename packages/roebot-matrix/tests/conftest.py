"""One homeserver for all tests. Where the package matrix-synapse is not installed, they fail and say so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synapse import PYTHON, Synapse, synapse

from roebot_testing.conformance import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    """Run a homeserver until the last test has ended."""
    if not PYTHON.exists():
        pytest.fail(f"needs matrix-synapse in {PYTHON} (make test-all installs it)", pytrace=False)
    with synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server
