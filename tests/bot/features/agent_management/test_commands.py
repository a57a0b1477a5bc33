"""Commands about models and memory answer at once, and a model that is chosen reaches the run."""

from __future__ import annotations

import pytest

from roebot_testing.management import make_model
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("/help model", "takes effect with the next answer"),
        ("/models", "`small`"),
        ("/model", "the default model (`small`)"),
        ("/model big", "This conversation will use `big`, starting with the next answer."),
        ("/model bgi", "Did you mean `big`"),
        ("/memory", "I don't remember anything about you"),
    ],
)
async def test_commands_answer_at_once(at: Bench, said: str, expected: str) -> None:
    async with at.running():
        await at.adapter.hears(said)
        await closed(at)
    [text] = at.adapter.texts()
    assert expected in text
    assert at.runtime.runs == {}


async def test_a_chosen_model_reaches_the_run(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("/model big")
        await closed(at)
        await at.adapter.hears("hi")
        await closed(at, 2)
    [run] = at.runtime.runs.values()
    assert run.request.configurable["model_name"] == "big"


async def test_models_of_a_foreign_runtime_or_none(at: Bench) -> None:
    at.runtime.offered = None
    async with at.running():
        await at.adapter.hears("/models")
        await closed(at)
        at.runtime.offered, at.runtime.down = [make_model("x")], True
        await at.adapter.hears("/models")
        await closed(at, 2)
    assert "does not list" in at.adapter.texts()[0]
    assert "is not responding" in at.adapter.texts()[1]
