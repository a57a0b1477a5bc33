"""Scenarios of the harness review with a small window: plan mode, long output, summaries."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.review_stage import MARKS, everywhere, files, open_review, script, texts
from tests.harness.strict_providers import Reply
from tests.played.recording import call, calls
from tests.played.requests import ModelRequest, Purpose, text_of
from tests.played.scenarios import SMALL_WINDOW
from tests.played.stage import Stage
from tests.played.steps import play

pytestmark = [*MARKS, pytest.mark.bubblewrap, pytest.mark.long]

SETTINGS = f"{SMALL_WINDOW}\nmemory: {{enabled: false}}"
OUTPUTS = "/mnt/user-data/outputs"
LOG = "/mnt/user-data/uploads/service.log"
RESULT = "There are 10 ERROR lines in each thousand; the counts are attached."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def review(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A service on one platform."""
    async with open_review(tmp_path_factory.mktemp("review") / "home", request.param, SETTINGS) as stage:
        yield stage


@everywhere
async def test_6_long_output_is_whole_and_the_file_arrives(review: Stage) -> None:
    def count_saved(request: ModelRequest) -> Reply:
        saved, *_ = re.findall(r"/mnt/\S+?\.(?:txt|log)\b", request.results[0])
        return call("bash", command=f"grep -c all.is.well {saved}; grep -c '' {saved}")

    items = [{"content": text, "status": "pending"} for text in ("Count", "Attach")]
    done = [{**item, "status": "completed"} for item in items]
    model = await script(
        review,
        6,
        call("write_todos", todos=items),
        call("bash", command=f"cat {LOG}", description="Look at the log"),
        count_saved,
        call("bash", command=f"grep -c ERROR {LOG} > {OUTPUTS}/counts.txt; exit 3"),
        calls(("write_todos", {"todos": done}), text="Nearly there."),
        Reply(RESULT),
        call("present_files", paths=["counts.txt"]),
    )
    await play(6, review)
    shown = await review.room.read()
    accepted, long, counted, failed = (model.lead[at].results for at in (1, 2, 3, 4))
    assert "Not written" not in accepted[0]
    assert "30,000" in long[0], long[0][-600:]
    assert counted[0].split()[:2] == ["29700", "30000"], counted
    assert re.search(r"exit code:? 3", failed[0], re.IGNORECASE), failed
    assert "counts.txt" in model.lead[6].last_text, "a file that nobody was shown is named"
    assert files(shown) == ["counts.txt"]
    assert "\n".join(texts(shown)).count("There are 10 ERROR lines") == 1
    assert len(model.of(Purpose.SUMMARY)) <= 2
    assert model.unused == 0


@everywhere
async def test_7_what_a_summary_cut_can_be_looked_up(review: Stage) -> None:
    def look_up(request: ModelRequest) -> Reply:
        whole = "\n".join(text_of(one) for one in request.messages)
        path, *_ = re.findall(r"word for word: (/mnt/\S+\.txt)", whole)
        return call("bash", command=f"grep -c 'ERROR disk full' {path}")

    model = await script(
        review,
        7,
        Reply("Noted: Heron, 18,400 EUR."),
        Reply("Each hundredth line is an error."),
        Reply("The same pattern."),
        look_up,
        Reply("Part 1 had 6 ERROR lines; the budget is 18,400 EUR."),
    )
    await play(7, review)
    assert texts(await review.room.read())[-1].startswith("Part 1 had 6")
    summaries = model.of(Purpose.SUMMARY)
    assert 1 <= len(summaries) <= 4
    assert not any("Person: Here is a summary" in one.last_text for one in summaries)
    assert not any("<earlier_summary>\n(none)" in one.last_text for one in summaries[1:])
    assert model.lead[4].results, model.lead[4].messages
    [found] = model.lead[4].results
    assert int(re.findall(r"\d+", found)[0]) >= 6, found
    last = [text_of(one) for one in model.lead[3].messages]
    assert "How many ERROR lines had part 1?" in last[-1]
    assert any("<summary" in text for text in last)
