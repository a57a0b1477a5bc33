"""A loop of one's own: how far it runs ahead of its caller, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from itertools import islice

import pytest

from agent.core.background_loop import QUEUE_LIMIT, BackgroundLoop

pytestmark = [pytest.mark.may_block, pytest.mark.timeout(20)]


class Counting:
    """Numbers without end; `made` says how many were asked for, `ended` that nobody asks any more."""

    def __init__(self, until: int) -> None:
        self.made = 0
        self.enough = threading.Event()
        self.ended = threading.Event()
        self._until = until

    async def numbers(self) -> AsyncGenerator[int, None]:
        try:
            while True:
                self.made += 1
                if self.made == self._until:
                    self.enough.set()
                yield self.made
        finally:
            self.ended.set()


def test_it_runs_ahead_of_its_caller_so_far_and_no_farther() -> None:
    own, counting = BackgroundLoop(), Counting(QUEUE_LIMIT + 11)
    items = own.iterate(counting.numbers())
    assert list(islice(items, 10)) == list(range(1, 11))
    assert counting.enough.wait(10)
    own.run(nothing())
    assert counting.made == QUEUE_LIMIT + 11, "the one that has no room yet is made"
    items.close()
    own.close()
    assert counting.ended.is_set()


def test_closing_ends_work_that_waits_for_its_caller() -> None:
    own, counting = BackgroundLoop(), Counting(QUEUE_LIMIT + 2)
    items = own.iterate(counting.numbers())
    assert next(items) == 1
    assert counting.enough.wait(10)
    own.close()
    assert counting.ended.is_set()
    assert "roebot-client" not in {thread.name for thread in threading.enumerate()}
    items.close()


async def nothing() -> None:
    """One turn of the loop."""


ENDS_WITH_THE_PROCESS = """
import asyncio
from agent.core.background_loop import process_loop
async def work():
    return await asyncio.to_thread(int, "5")
print(process_loop().run(work()))
"""


def test_the_loop_of_the_process_ends_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS_WITH_THE_PROCESS], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("5\n", "")
