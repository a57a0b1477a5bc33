"""Every process collects the same tests: parameters don't depend on the order of a set."""

from __future__ import annotations

import asyncio
import os
import sys
from difflib import unified_diff

import pytest

pytestmark = [pytest.mark.long, pytest.mark.may_block, pytest.mark.timeout(600)]


async def collect_tests(seed: str) -> list[str]:
    """Return the ids of all tests, in the order in which a process with this seed of hashes collects them."""
    options = ("-q", "--collect-only", "-n0", "-p", "no:cacheprovider", "-m", "", "tests")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pytest", *options),
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()[-3_000:]
    return [line for line in output.decode().splitlines() if "::" in line]


async def test_every_process_collects_the_same_tests() -> None:
    one, other = await asyncio.gather(collect_tests("1"), collect_tests("2"))
    assert len(one) > 1_000
    assert list(unified_diff(one, other, lineterm="")) == []
