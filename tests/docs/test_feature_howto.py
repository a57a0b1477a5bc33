"""The feature of docs/howto/write-a-feature.md works as a package of its own."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.app.features import GROUP, load_features
from bot.texts import texts_for
from bot.texts.catalogue import CATALOGUES
from tests.docs.blocks import blocks
from tests.harness.plugins import plugin_packages
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[World]:
    """A service in whose environment the package of the page is installed."""
    [code] = blocks("python file=polls.py")
    [project] = [block for block in blocks("toml") if GROUP in block.body]
    points = tomllib.loads(project.body)["project"]["entry-points"][GROUP]
    (tmp_path / "packages").mkdir()
    before = {locale: dict(catalogue) for locale, catalogue in CATALOGUES.items()}
    with plugin_packages(tmp_path / "packages") as install:
        install("polls", code.body, GROUP, **points)
        assert load_features().refused == ()
        async with world(tmp_path) as running:
            yield running
    for locale, catalogue in CATALOGUES.items():
        catalogue.clear()
        catalogue.update(before[locale])


async def answer(service: World, conversation: int, text: str) -> str:
    posted = await service.say(conversation, text)
    turn = await service.turn(posted["turn"])
    return "".join(part["text"] for part in turn["parts"])


async def test_a_poll_from_the_question_to_the_result(service: World) -> None:
    conversation = await service.open()
    assert "Poll 1: Pizza or pasta?" in await answer(service, conversation, "/poll Pizza or pasta?")
    assert await answer(service, conversation, "/poll 1") == "Nobody has voted yet."
    assert await answer(service, conversation, "/poll 1 pizza") == "- pizza: 1"
    assert await answer(service, conversation, "/poll 1 pasta") == "- pasta: 1"
    assert "no poll 2" in await answer(service, conversation, "/poll 2 pasta")
    assert "starts a poll" in await answer(service, conversation, "/help")
    found = await service.http.get("/api/polls/1")
    assert found.json() == {"pasta": 1}
    service.http.headers.pop("authorization")
    assert (await service.http.get("/api/polls/1")).status_code == 401


async def test_the_result_is_a_button(service: World) -> None:
    conversation = await service.open()
    posted = await service.say(conversation, "/poll Pizza or pasta?")
    [part] = (await service.turn(posted["turn"]))["parts"]
    assert part["choices"] == ["Show the result"]


def test_a_feature_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with plugin_packages(tmp_path) as install:
        install("broken", "FEATURE = None", GROUP, broken="broken:FEATURE")
        [refused] = load_features().refused
        assert refused.complaint.startswith("the feature broken from the package broken 1.0 can't be used:")
    assert load_features().refused == ()
    assert texts_for("en")("unknown_command", name="x", nearest="")


TAKEN = """
    from bot.commands.registry import Command, Result
    from bot.feature import Feature


    async def answer(call):
        return Result("other")


    FEATURE = Feature("{name}", commands=(Command("{command}", answer),))
"""


@pytest.mark.parametrize(
    ("name", "command", "problem"),
    [
        ("schedules", "other", "another package provides it"),
        ("other", "status", "the command /status exists already"),
        ("other", "digest", "the command /digest exists already"),
    ],
)
def test_no_package_replaces_what_is_built_in(tmp_path: Path, name: str, command: str, problem: str) -> None:
    with plugin_packages(tmp_path) as install:
        install("a_package", TAKEN.format(name=name, command=command), GROUP, **{name: "a_package:FEATURE"})
        [refused] = load_features().refused
        assert problem in refused.complaint
        built_in = next(feature for feature in load_features().usable if feature.name == "schedules")
        assert [one.name for one in built_in.commands] == ["digest"]
