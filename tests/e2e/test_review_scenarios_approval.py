"""The scenario of the harness review in which a call needs approval and is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.review_stage import MARKS, everywhere, open_review, script, texts
from tests.harness.strict_providers import Reply
from tests.played.recording import call, calls
from tests.played.scenarios import APPROVAL
from tests.played.stage import Stage
from tests.played.steps import play

pytestmark = [*MARKS, pytest.mark.bubblewrap, pytest.mark.long]

SETTINGS = f"{APPROVAL}\nmemory: {{enabled: false}}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def review(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A service on one platform."""
    async with open_review(tmp_path_factory.mktemp("review") / "home", request.param, SETTINGS) as stage:
        yield stage


@everywhere
async def test_9_a_refusal_says_why_and_looks_like_one(review: Stage) -> None:
    command = "rm -r archive"
    model = await script(
        review,
        9,
        call("write_file", path="archive/2025.md", content="The budget of 2025 was 18,400 EUR."),
        Reply("Noted."),
        calls(
            ("bash", {"command": command, "description": "Delete the archive folder"}),
            text="I will delete it for good.",
        ),
        Reply("I left the folder alone."),
    )
    await play(9, review)
    noted, question, *_, answer = texts(await review.room.read())
    assert noted == "Noted."
    assert [one.name for one in (review.home / "threads").rglob("archive/*")] == ["2025.md"]
    assert command in question
    assert "Delete the archive folder" in question
    assert answer == "I left the folder alone."
    assert "No, never delete things in there." in model.lead[3].results[-1]
    assert "✓" not in question
