"""`/model` while an answer is in progress."""

from __future__ import annotations

from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run


async def test_model_and_status_while_busy(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        await at.adapter.hears("/model big")
        await at.adapter.hears("/status")
        await at.until(lambda: len(at.adapter.texts()) == 2)
        at.runtime.down = True
        await at.adapter.hears("/model small")
        await at.until(lambda: len(at.adapter.texts()) == 3)
        at.runtime.down = False
        run.end("error")
        await closed(at, 4)
    texts = at.adapter.texts()
    assert any("once the current answer is finished" in text for text in texts)
    assert any("Current answer: working (" in text for text in texts)
    assert any("is not responding" in text for text in texts)
