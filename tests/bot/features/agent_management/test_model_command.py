"""`/model`, from the command to what a run is asked with, and back to the account's model."""

from __future__ import annotations

import pytest

from roebot_testing.management import make_model
from roebot_testing.runtime import answer_with
from tests.bot.features.agent_management.test_agent_command import OWN, said
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_turn_edge_cases import first_run


def model_of(at: Bench) -> object:
    """The model of the newest run."""
    return list(at.runtime.runs.values())[-1].request.configurable.get("model_name")


@pytest.mark.parametrize(
    ("account", "lines", "expected"),
    [
        (
            "",
            ["/model big", "/model default"],
            "This conversation will use the default model (`small`), starting with the next answer.",
        ),
        (
            "",
            ["/model big", "/model Default", "/model"],
            "This conversation uses the default model (`small`).",
        ),
        ("", ["/model big", "/model `default`", "/status"], "Model: the default model"),
        (
            "",
            ["/model default"],
            "This conversation will use the default model (`small`), starting with the next answer.",
        ),
        ("", ["/model big", "/model default", "/models"], "✓ `small`"),
        ("", ["/models"], "`/model default` to go back to the default."),
        ("", ["/help model"], "`/model default` goes back to the default"),
        ("big", ["/model"], "This conversation uses `big`."),
        ("big", ["/models"], "✓ `big`"),
        ("big", ["/status"], "Model: `big`"),
        ("big", ["/model small", "/status"], "Model: `small`"),
        (
            "big",
            ["/model small", "/model default"],
            "This conversation will use `big`, starting with the next answer.",
        ),
        ("big", ["/model small", "/model default", "/models"], "✓ `big`"),
    ],
)
async def test_what_it_says(at: Bench, account: str, lines: list[str], expected: str) -> None:
    at.model = account
    async with at.running():
        assert expected in await said(at, *lines)
    assert at.runtime.runs == {}


@pytest.mark.parametrize(("account", "expected"), [("", None), ("small", "small")])
async def test_the_next_run_has_the_accounts_model_again(
    at: Bench, account: str, expected: str | None
) -> None:
    at.model, at.runtime.script = account, answer_with("ok")
    async with at.running():
        await said(at, "/model big", "hi")
        assert model_of(at) == "big"
        await said(at, "/model default", "hi")
        assert model_of(at) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["/agent coder", "/models"], "✓ `big`"),
        (["/agent coder", "/model"], "This conversation uses `big` (the `coder` agent's model)."),
        (["/agent coder", "/status"], "Model: the `coder` agent's model"),
        (["/agent coder", "/model small", "/models"], "✓ `small`"),
        (["/agent coder", "/model small", "/status"], "Model: `small`"),
        (["/agent poet", "/models"], "✓ `small`"),
        (["/agent poet", "/model"], "the default model (`small`)"),
    ],
)
async def test_an_agent_may_have_a_model_of_its_own(at: Bench, lines: list[str], expected: str) -> None:
    at.runtime.own = OWN
    async with at.running():
        assert expected in await said(at, *lines)


async def test_so_has_one_that_waited_meanwhile(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        await said(at, "/model big")
        await at.adapter.hears("this waits")
        text = await said(at, "/model default")
        assert (
            text
            == "This conversation will use the default model (`small`) once the current answer is finished."
        )
        at.runtime.script = answer_with("ok")
        run.say("first")
        run.end()
        await closed(at, 4)
    assert model_of(at) is None


async def test_a_retry_is_answered_by_the_accounts_model(at: Bench) -> None:
    at.model, at.runtime.script = "big", answer_with("ok")
    async with at.running():
        await said(at, "hi")
        assert model_of(at) == "big"
        await at.adapter.hears("/retry")
        await closed(at, 3)
    assert len(at.runtime.runs) == 2
    assert model_of(at) == "big"


async def test_the_way_back_needs_no_runtime(at: Bench) -> None:
    async with at.running():
        await said(at, "/model big")
        at.runtime.down = True
        assert "is not responding" in await said(at, "/model small")
        assert "will use the default model" in await said(at, "/model default")
        at.runtime.down, at.runtime.offered = False, None
        assert "will use `mine`" in await said(at, "/model mine")
        assert "will use the default model" in await said(at, "/model default")


async def test_a_model_that_is_called_like_the_way_back_can_be_chosen(at: Bench) -> None:
    at.runtime.offered = (
        make_model("small", default=True),
        make_model("default"),
    )
    async with at.running():
        assert "This conversation will use `default`, starting with the next answer." in await said(
            at, "/model default"
        )
