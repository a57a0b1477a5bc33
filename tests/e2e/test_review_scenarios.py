"""The scenarios of the harness review: the model does what it did there, and each ends as it should.

Those with long conversations and with approvals are in modules of their own.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.review_stage import MARKS, everywhere, files, in_groups, open_review, script, texts, until
from tests.harness.strict_providers import Reply
from tests.played.page_room import PageRoom
from tests.played.recording import MEMORY, call, calls
from tests.played.requests import ModelRequest, Purpose, text_of
from tests.played.scenarios import SCENARIOS
from tests.played.stage import Stage
from tests.played.steps import play

pytestmark = [*MARKS, pytest.mark.bubblewrap, pytest.mark.long]

SETTINGS = "memory: {debounce_seconds: 2}\nschedules: {timezone: Europe/Berlin}"
OUTPUTS, UPLOADS = "/mnt/user-data/outputs", "/mnt/user-data/uploads"
SCRIPTS = "/mnt/skills/public/data-analysis/scripts"
COUNT = f"""cat > months.py <<'END'
import sys
sys.path.insert(0, "{SCRIPTS}")
from tables import read_table
table = read_table("{UPLOADS}/sales.csv")
print(table["date"].dt.month.value_counts().sort_index().to_dict())
END
python3 months.py"""
CHART = f"""sleep 0.3
python3 -c "
from PIL import Image
Image.new('RGB', (60, 40), 'navy').save('{OUTPUTS}/revenue.png')"
"""
FIND = "python3 /mnt/skills/public/document-questions/scripts/find.py"
PRODUCTS = ("Slack", "Zulip", "Mattermost", "Rocket.Chat")
TIME = re.compile(r'<message [^>]*time="[A-Z][a-z]{2} \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d"')


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def review(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A service on one platform."""
    async with open_review(tmp_path_factory.mktemp("review") / "home", request.param, SETTINGS) as stage:
        yield stage


@everywhere
async def test_1_the_model_knows_where_when_and_with_whom_it_talks(review: Stage) -> None:
    answers = ("Hi Ann!", "Canberra.", "It is 14:05 in Berlin.", "A digest: /digest weekdays 9:00 …")
    model = await script(review, 1, *map(Reply, answers))
    await play(1, review)
    assert texts(await review.room.read()) == [*answers]
    first, *_, last = model.lead
    app = {"TelegramRoom": "Telegram", "SlackRoom": "Slack", "PageRoom": "Web page"}
    assert app[type(review.room).__name__] in first.system
    assert "Europe/Berlin" in first.system
    for word in ("/digest", "/record", "/memory", "/new", "/stop"):
        assert word in first.system
    assert "remember" in first.system
    for one in model.lead:
        assert TIME.search(one.last_text), one.last_text
    if not isinstance(review.room, PageRoom):
        assert 'name="Ann"' in first.last_text
    assert {one.system for one in model.lead} == {first.system}
    assert last.tools == first.tools


@everywhere
async def test_2_a_chart_comes_although_it_is_only_linked(review: Stage) -> None:
    model = await script(
        review,
        2,
        calls(("bash", {"command": COUNT, "description": "Count rows per month"}), text="Let me look."),
        calls(
            ("bash", {"command": CHART, "description": "Draw the chart"}),
            ("view_image", {"path": f"{OUTPUTS}/revenue.png"}),
            text="`P` and `PT` must be refused; fixing.",
        ),
        Reply(f"Revenue rose. ![Monthly revenue by region]({OUTPUTS}/revenue.png)\n\nSued leads."),
    )
    await play(2, review)
    shown = await review.room.read()
    said = "\n".join(texts(shown))
    upload, counted, drawn = model.lead
    assert f"{UPLOADS}/sales.csv" in upload.last_text
    # 1,600 rows over 24 days; six months of four days each.
    assert "{1: 268, 2: 268, 3: 268, 4: 268, 5: 264, 6: 264}" in counted.results[0]
    assert "no file" not in drawn.results[1].lower(), drawn.results
    assert "SandboxError" not in str(drawn.results)
    assert files(shown) == ["revenue.png"]
    assert "Revenue rose." in said
    assert "Sued leads." in said
    assert "/mnt/" not in said
    assert "Let me look." not in said
    assert "fixing" not in said


@everywhere
async def test_3_quotations_of_a_pdf_name_its_pages(review: Stage) -> None:
    model = await script(
        review,
        3,
        call("bash", command=f'{FIND} "notice terminate months weeks" {UPLOADS} --most 4'),
        Reply('Three months: "terminate with three months notice" (contract.pdf, page 12).'),
    )
    await play(3, review)
    assert texts(await review.room.read())[-1].endswith("(contract.pdf, page 12).")
    asked, found = model.lead
    assert f"{UPLOADS}/contract.pdf" in asked.last_text
    assert "General terms, part 3." in asked.last_text, "the first lines of its pages"
    assert "General terms, part 42." in asked.last_text, "no page is left out"
    [result] = found.results
    assert re.search(r"page 12\b", result), result
    assert re.search(r"three months notice\s+to the end of a calendar quarter", result), "the clause is whole"


@in_groups
async def test_4_what_bob_answers_is_known_later(review: Stage) -> None:
    proposal = "Tuesday 9:00 in Berlin, which is 17:00 in Tokyo."
    model = await script(
        review,
        4,
        call("ask_clarification", question="In which city is Bob?"),
        Reply(proposal),
        Reply("Yes, Tuesday still works."),
    )
    await play(4, review)
    assert texts(await review.room.read())[-2:] == [proposal, "Yes, Tuesday still works."]
    assert "I am in Tokyo" in str(model.lead[1].results), await review.describe()
    later = json.dumps(model.lead[2].body["messages"], ensure_ascii=False)
    assert proposal in later, later
    await until(lambda: any("I am in Tokyo" in str(one.body) for one in model.of(Purpose.MEMORY)), review)


@everywhere
async def test_5_each_of_four_subagents_answers(review: Stage) -> None:
    def answer(request: ModelRequest) -> Reply:
        [product] = [name for name in PRODUCTS if f"Look up {name}." in text_of(request.messages[0])]
        if not request.results:
            return call("bash", command="curl -sS https://mattermost.com/")
        return Reply(f"{product}: no network here, so this is from memory.")

    tasks = [
        ("task", {"description": name, "prompt": f"Look up {name}.", "subagent_type": "general-purpose"})
        for name in PRODUCTS
    ]
    model = await script(
        review,
        5,
        calls(*tasks, text="I will ask four subagents."),
        Reply("None of the four could be looked up: there is no network here."),
        subagent=[answer] * 8,
    )
    await play(5, review)
    said = texts(await review.room.read())
    assert said[-1].startswith("None of the four")
    assert "I will ask" not in said[-1]
    results = model.lead[1].results
    assert len(results) == 4
    for name, result in zip(PRODUCTS, results, strict=True):
        assert f"{name}: no network here" in result
    curled = [one.results[0] for one in model.of(Purpose.SUBAGENT) if one.results]
    assert len(curled) == 4
    assert all("no network" in result for result in curled), curled


@everywhere
async def test_8_a_stated_preference_applies_in_the_next_thread(review: Stage) -> None:
    fact = {"content": "Wants answers in German, and brief.", "category": "preference", "confidence": 0.95}
    learned = json.dumps({"user": {}, "history": {}, "add": [fact], "remove": []})

    def learn(request: ModelRequest) -> Reply:
        # Memories of earlier scenarios may still be written.
        return Reply(learned if "answer me in German" in str(request.body) else MEMORY)

    model = await script(
        review,
        8,
        Reply("I will, from the next message on."),
        Reply("Eine Sperre, die genau ein Thread hält."),
        background={Purpose.MEMORY: learn},
    )
    wish, new, question = SCENARIOS[8]().steps
    await review.ask(wish.text)
    await review.ask(new.text)
    await review.ask(question.text)
    assert texts(await review.room.read())[-1] == "Eine Sperre, die genau ein Thread hält."
    first, second = model.lead
    assert "remember" in first.system, "it knows that it remembers, with nothing remembered yet"
    assert "Wants answers in German" in second.system
    assert "nothing in it is an instruction." not in second.system
    extraction = next(one for one in model.of(Purpose.MEMORY) if "answer me in German" in str(one.body))
    assert re.search(r"\b20\d\d\b", str(extraction.body)), "the extraction knows the date"


@everywhere
async def test_10_what_was_stopped_stays_in_history(review: Stage) -> None:
    is_steered = asyncio.Event()

    async def begin(_: ModelRequest) -> Reply:
        await asyncio.wait_for(is_steered.wait(), 60)
        return call("bash", command="ls", description="Look at the workspace")

    partial = "Tabs let everybody choose their width. Spaces look the same everywhere. " * 6
    model = await script(
        review, 10, begin, Reply(partial, endless=True), Reply("In short: spaces, as PEP 8 says.")
    )
    long, only, stop, on = SCENARIOS[10]().steps
    await review.say(long.text)
    await until(lambda: len(model.lead) == 1, review)
    await review.say(only.text)
    is_steered.set()
    async with asyncio.timeout(60):
        while not any("Spaces look the same" in one.text for one in await review.room.read()):
            await asyncio.sleep(0.05)
    await review.say(stop.text)
    await review.wait()
    await review.ask(on.text)
    assert texts(await review.room.read())[-1].endswith("In short: spaces, as PEP 8 says.")
    assert review.model.rejections == []
    assert "Only for Python, please." in model.lead[1].last_text
    history = "\n".join(text_of(one) for one in model.lead[2].messages)
    assert "Tabs let everybody choose their width." in history
    by = "" if isinstance(review.room, PageRoom) else ' by "?Ann'
    assert re.search(rf"\[stopped{by}", history), history[-800:]
    assert "Go on where you stopped." in model.lead[2].last_text


@everywhere
async def test_11_a_schedule_asked_for_in_words_can_be_made(review: Stage) -> None:
    command = "/digest weekdays 9:00 Summarize this channel"
    answer = f"Send this, and I will do it every weekday at 9: {command}"
    model = await script(review, 11, Reply(answer))
    await play(11, review)
    assert texts(await review.room.read())[-1] == answer
    [drafted, *_] = texts(await review.ask(f"@bot {command}"))
    [number] = set(re.findall(r"digest(?:@\w+)? ok (\d+)", drafted))
    [saved, *_] = texts(await review.ask(f"@bot /digest ok {number}"))
    assert "/digest" in model.lead[0].system
    assert "09:00 Europe/Berlin" in drafted
    assert f"Schedule {number} is active" in saved
    assert len(model.lead) == 1


@everywhere
async def test_12_instructions_in_a_file_stay_in_the_file(review: Stage) -> None:
    answer = "Five days cost 600 EUR (120 EUR per day, offer.txt). The file also contains instructions."
    model = await script(review, 12, Reply(answer))
    await play(12, review)
    assert texts(await review.room.read()) == [answer]
    text = model.lead[0].last_text
    assert f"{UPLOADS}/offer.txt" in text
    assert text.count("</file>") == 1
    assert "<message>SYSTEM" not in text


@in_groups
async def test_13_a_question_about_somebody_elses_message_brings_it(review: Stage) -> None:
    model = await script(review, 13, Reply("The slowest 1 % of requests got 13 times slower."))
    await play(13, review)
    assert "13 times slower" in texts(await review.room.read())[-1]
    text = model.lead[0].last_text
    assert "what does he mean?" in text
    assert "p99 went from 180 ms to 2.4 s" in text
    assert "Bob" in text


@in_groups
async def test_13_a_forward_is_not_the_senders_own_words(review: Stage) -> None:
    model = await script(review, 15, Reply("Mallory says so."))
    await review.room.forward("The offer ends on Friday.", author="Mallory")
    await until(lambda: model.lead, review)
    await review.wait()
    text = model.lead[0].last_text
    assert re.search(r'<quotation kind="(forward|shared)"[^>]*name="Mallory"', text), text


@everywhere
async def test_14_sloppy_calls_work_or_say_what_is_wrong(review: Stage) -> None:
    path = f"{UPLOADS}/notes.log"
    many = [("bash", {"command": f"echo {at} >> ran.txt"}) for at in range(10)]
    question = ("ask_clarification", {"question": "Which lines?", "options": ["10 to 20", "all"]})
    model = await script(
        review,
        14,
        calls(
            ("read_file", {"file_path": path, "offset": 11, "limit": 11}),
            ("bash", {"cmd": f"wc -l {path}", "timeout": 20}),
            ("bash", {"command": "true", "shell": "zsh"}),
            ("read_file", {"path": "/etc/passwd"}),
            ("read_file", {"path": f"{UPLOADS}/note.log"}),
        ),
        calls(*many[:5], question, *many[5:]),
        call("bash", command="cat ran.txt"),
        Reply(),
        Reply("The file has 40 lines."),
    )
    await play(14, review)
    await review.press("10 to 20")
    await review.wait()
    shown = texts(await review.room.read())
    lines, count, unknown, outside, missing = model.lead[1].results
    assert "00010" in lines
    assert "00020" in lines
    assert "00009" not in lines
    assert "00021" not in lines
    assert "40 " in count
    assert 'no argument "shell"' in unknown
    assert "…" not in outside
    assert "/mnt/user-data" in outside
    assert "notes.log" in missing
    assert "Error" not in f"{outside}{missing}"
    after = model.lead[2].results
    assert len(after) == 11
    assert [text for text in after if not text.startswith("Not run: ")] == ["10 to 20"]
    assert "No such file" in model.lead[3].results[0], "no call beside the question ran"
    assert "empty" in model.lead[4].last_text
    assert len(model.lead) == 5
    assert shown[-1] == "The file has 40 lines."
