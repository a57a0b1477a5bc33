"""The numbers of a memory: what is kept, what goes, what is put before the model."""

from __future__ import annotations

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.patch import (
    FactDraft,
    FactLimits,
    HistoryPatch,
    InvalidAnswer,
    MemoryPatch,
    UserPatch,
    apply_patch,
    is_same_fact,
    limit_sentences,
    parse_patch,
    to_line,
)
from agent.memory.prompt_section import RESERVED_TOKENS, escape_tags, render_memory
from agent.middleware.memory import INJECTED
from agent.models.capabilities import estimate_tokens
from agent.shared.memory_document import Fact, MemoryDocument, Summary, UserMemory

NOW = "2026-11-22T12:00:00+00:00"


def fact(content: str, confidence: float = 0.9, number: int = 0) -> Fact:
    return Fact(
        id=f"fact_{content}",
        content=content,
        category="knowledge",
        confidence=confidence,
        created_at=f"2026-11-{1 + number % 28:02}T{number // 28:02}:00:00+00:00",
        source="t-1",
    )


def after(document: MemoryDocument, limits: FactLimits | None = None, **change: object) -> MemoryDocument:
    return apply_patch(
        document,
        MemoryPatch.model_validate(change),
        limits or FactLimits(),
        now=NOW,
        source="t-9",
        update_id="update-1",
    )


def contents(document: MemoryDocument) -> list[str]:
    return [one.content for one in document.facts]


def added(content: str, confidence: float = 0.9) -> dict[str, object]:
    return {"content": content, "category": "goal", "confidence": confidence}


@pytest.mark.parametrize(("confidence", "kept"), [(0.69, False), (0.7, True), (0.71, True), (1.0, True)])
def test_a_fact_needs_a_confidence_of_seven_tenths(confidence: float, kept: bool) -> None:
    assert bool(after(MemoryDocument(), add=[added("x", confidence)]).facts) is kept


def test_the_confidence_that_is_asked_for_is_the_configurations() -> None:
    low = FactLimits(confidence=0.2)
    assert contents(after(MemoryDocument(), low, add=[added("x", 0.2), added("y", 0.1)])) == ["x"]


def test_a_fact_says_where_it_comes_from() -> None:
    [found] = after(MemoryDocument(), add=[added("  x  ")]).facts
    assert (found.content, found.category, found.confidence) == ("x", "goal", 0.9)
    assert (found.created_at, found.source) == (NOW, "t-9")
    assert found.id.startswith("fact_")


@pytest.mark.parametrize("again", ["I like tea", " I like tea ", "\tI  like\n tea", "i LIKE Tea"])
def test_duplicates_are_found_after_trimming(again: str) -> None:
    document = MemoryDocument(facts=(fact("I like tea", 0.8),))
    found = after(document, add=[added(again, 0.95)])
    assert contents(found) == ["I like tea"]
    assert found.facts[0].id == "fact_I like tea", "the one that stood there stays"
    assert found.facts[0].confidence == 0.95
    assert after(found, add=[added(again, 0.7)]).facts[0].confidence == 0.95, "never less sure"


def test_two_that_say_the_same_in_one_answer_are_one() -> None:
    assert contents(after(MemoryDocument(), add=[added("tea"), added(" Tea ")])) == ["tea"]


def test_an_empty_fact_is_none() -> None:
    assert contents(after(MemoryDocument(), add=[added("  \n"), added("\x00\x1b")])) == []


def test_a_contradiction_takes_the_old_fact_out_and_the_new_one_in() -> None:
    document = MemoryDocument(facts=(fact("Lives in Lisbon"), fact("Has a cat")))
    found = after(document, add=[added("Lives in Oslo")], remove=["fact_Lives in Lisbon", "fact_unknown"])
    assert contents(found) == ["Has a cat", "Lives in Oslo"]
    again = after(document, add=[added("lives in lisbon")], remove=["fact_Lives in Lisbon"])
    assert contents(again) == ["Has a cat", "lives in lisbon"], "what goes, goes first"


def test_the_best_hundred_stay() -> None:
    facts = tuple(fact(f"f{number}", 0.8, number) for number in range(100))
    found = after(MemoryDocument(facts=facts), add=[added("sure", 0.99), added("unsure", 0.75)])
    assert len(found.facts) == 100
    assert "sure" in contents(found)
    assert "unsure" not in contents(found)
    assert "f0" not in contents(found), "of equally sure ones the oldest goes"
    assert contents(found)[:2] == ["f1", "f2"], "the others stay where they stood"


def test_how_many_stay_is_the_configurations() -> None:
    many = [added(f"f{number}", 0.7 + number / 100) for number in range(5)]
    assert contents(after(MemoryDocument(), FactLimits(facts=2), add=many)) == ["f3", "f4"]


def test_summaries_are_replaced_emptied_or_left() -> None:
    user = UserMemory(
        work_context=Summary(summary="Works at A.", updated_at="1"),
        personal_context=Summary(summary="Runs.", updated_at="1"),
        top_of_mind=Summary(summary="A move.", updated_at="1"),
    )
    found = after(MemoryDocument(user=user), user={"workContext": "Works at B.", "personalContext": ""})
    assert found.user.work_context == Summary(summary="Works at B.", updated_at=NOW)
    assert found.user.personal_context == Summary(summary="", updated_at=NOW)
    assert found.user.top_of_mind.updated_at == "1"
    assert (found.last_updated, found.last_update_id) == (NOW, "update-1")
    old = after(found, history={"recentMonths": "A project."})
    assert old.history.recent_months.summary == "A project."


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One.", "One."),
        ("One. Two! Three? Four.", "One. Two! Three?"),
        ("Uses v1.2.3 at\n work.  Likes it.", "Uses v1.2.3 at work. Likes it."),
        ("一。二！三？四。", "一。 二！ 三？"),
        ("", ""),
    ],
)
def test_a_summary_has_three_sentences_at_most(text: str, kept: str) -> None:
    assert limit_sentences(text) == kept


def test_nothing_grows_without_end() -> None:
    assert len(limit_sentences("x" * 5000)) == 600
    assert len(to_line("x" * 5000)) == 300


def test_fifteen_facts_are_shown_the_surest_and_newest_first() -> None:
    facts = [fact(f"f{number:02}", 0.8, number) for number in range(20)]
    text = render_memory(MemoryDocument(facts=(fact("surest", 1.0), *facts)), group=False, tokens=2000)
    lines = [line.removeprefix("- (knowledge) ") for line in text.splitlines()[1:]]
    assert lines == ["surest", *(f"f{number:02}" for number in range(19, 5, -1))]
    assert len(lines) == 15


def test_contexts_are_shown_before_facts_with_their_names() -> None:
    user = UserMemory(top_of_mind=Summary(summary="A move."))
    document = MemoryDocument(user=user, facts=(fact("tea"),))
    assert render_memory(document, group=False, tokens=2000).splitlines() == [
        "About the person you are talking to:",
        "Top of mind: A move.",
        "- (knowledge) tea",
    ]
    assert render_memory(document, group=True, tokens=2000).startswith("About this group chat:\nTop of mind")
    assert render_memory(MemoryDocument(), group=False, tokens=2000) == ""


def test_what_is_shown_fits_its_tokens_marks_included() -> None:
    facts = tuple(fact(f"{number} " + "word " * 50, 0.9, number) for number in range(100))
    user = UserMemory(work_context=Summary(summary="w" * 600), top_of_mind=Summary(summary="测" * 600))
    for tokens in (130, 500, 2000):
        text = render_memory(MemoryDocument(user=user, facts=facts), group=False, tokens=tokens)
        assert estimate_tokens(INJECTED.format(text=text)) + len(text.splitlines()) <= tokens
    assert len(text.splitlines()) > 10, "what is too large is left out, not what comes after it"
    assert render_memory(MemoryDocument(facts=facts), group=False, tokens=RESERVED_TOKENS) == ""


def test_preferences_are_the_last_to_be_left_out() -> None:
    wish = Fact(
        id="w",
        content="Wants short answers.",
        category="preference",
        confidence=0.7,
        created_at=NOW,
        source="t",
    )
    facts = (*(fact(f"{number} " + "word " * 50, 0.9, number) for number in range(100)), wish)
    user = UserMemory(work_context=Summary(summary="w" * 600))
    document = MemoryDocument(user=user, facts=facts)
    assert render_memory(document, group=False, tokens=170).splitlines()[1:] == [
        "- (preference) Wants short answers."
    ]
    assert len(render_memory(document, group=False, tokens=9_000).splitlines()) == 2 + 15
    many = tuple(wish.model_copy(update={"id": str(at), "content": f"Wish {at}."}) for at in range(30))
    shown = render_memory(MemoryDocument(facts=(*many, *facts)), group=False, tokens=9_000)
    assert shown.count("(preference)") == 10
    assert len(shown.splitlines()) == 1 + 15


@given(st.text(alphabet="</memory> \n&lt;ab", max_size=60))
def test_nothing_remembered_can_end_the_quotation(text: str) -> None:
    safe = render_memory(MemoryDocument(facts=(fact(text),)), group=False, tokens=2000)
    assert "<" not in safe
    assert ">" not in safe
    assert escape_tags(safe) == safe


@given(st.text(max_size=400), st.text(max_size=400))
def test_what_is_trimmed_is_one_printable_line(one: str, other: str) -> None:
    line = to_line(one)
    assert len(line) <= 300
    assert line == to_line(line)
    assert line.isprintable()
    assert is_same_fact(one, other) == is_same_fact(other, one)


GOOD = FactDraft(content="Likes tea", category="preference", confidence=0.9)
TEA = '{"content": "Likes tea", "category": "preference", "confidence": 0.9}'


@pytest.mark.parametrize(
    "answer",
    [
        '{"add": [], "remove": []}',
        "{}",
        '\n```json\n{"user": {"workContext": null}}\n```\n',
        '{"user": null, "history": null, "add": null, "remove": null}',
        '<think>{"add": 3}</think>\n{"remove": []}',
        '{"add": [], "remarks": "nothing new"}',
    ],
)
def test_a_patch_without_changes(answer: str) -> None:
    assert parse_patch(answer) == MemoryPatch()


@pytest.mark.parametrize(
    "answer",
    [
        f'{{"add": [{TEA}]}}',
        f'Here it is: {{"add": [{TEA}]}} I hope that it helps.',
        f'I found one.\n```json\n{{"add": [{TEA}]}}\n```',
        "{'add': [{'content': 'Likes tea', 'category': 'preference', 'confidence': 0.9}],}",
        f'{{"add": {TEA}}}',
        f'{{"facts": [{TEA}]}}',
        f'{{"memory": {{"add": [{TEA}], "remove": []}}}}',
        f'[{{"add": [{TEA}]}}]',
        '{"add": "[{\\"content\\": \\"Likes tea\\", \\"category\\": \\"like\\", \\"confidence\\": 0.9}]"}',
        '{"add": [{"fact": "Likes tea", "category": "Preferences", "confidence": "0.9"}]}',
        '{"add": [{"text": "Likes tea", "type": "preference", "confidence": "90%"}]}',
        '{"add": [{"content": "Likes tea", "category": "preference", "confidence": 90}]}',
        '{"add": [{"content": "Likes tea", "category": "preference", "confidence": "high"}]}',
    ],
)
def test_an_imprecise_answer_is_read(answer: str) -> None:
    assert parse_patch(answer).add == (GOOD,)


@pytest.mark.guard(
    "one invalid memory fact does not discard the others",
    "agent/memory/patch_entries.py",
    '        if (fact := _select_fact(entries, f"add.{at}", one)) is not None',
    '        if (fact := _select_fact(entries, f"add.{at}", one)) is not None and not entries.problems',
    against="imprecise models",
)
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ('{"content": 3, "category": "goal", "confidence": 1}', "add.0.content: expected text"),
        ('{"category": "goal", "confidence": 1}', "add.0.content: expected text"),
        ('{"content": "x", "category": "goal", "confidence": 1.1}', "add.0.confidence"),
        ('{"content": "x", "category": "goal", "confidence": -1}', "add.0.confidence"),
        ('{"content": "x", "category": "goal", "confidence": NaN}', "add.0.confidence"),
        ('{"content": "x", "category": "goal", "confidence": "sure"}', "add.0.confidence"),
        ("7", "add.0: expected an object"),
    ],
)
def test_one_bad_fact_costs_no_other(bad: str, problem: str) -> None:
    with structlog.testing.capture_logs() as logs:
        patch = parse_patch(f'{{"add": [{bad}, {TEA}], "remove": ["fact_1", null, {{"id": "fact_2"}}]}}')
    assert patch.add == (GOOD,)
    assert patch.remove == ("fact_1", "fact_2")
    [entry] = [one for one in logs if one["event"] == "memory_entries_skipped"]
    assert entry["problems"][0].startswith(problem)
    assert entry["kept"] == 3
    with pytest.raises(InvalidAnswer, match=problem):
        parse_patch(f'{{"add": [{bad}]}}')


def test_a_fact_without_category_or_confidence_is_a_clear_conclusion() -> None:
    [fact] = parse_patch('{"add": ["Likes tea"]}').add
    assert (fact.content, fact.category, fact.confidence) == ("Likes tea", "context", 0.7)
    [other] = parse_patch('{"add": [{"content": "x", "category": "secret", "confidence": 0.9}]}').add
    assert other.category == "context"


def test_summaries_are_read_whatever_their_form() -> None:
    answer = (
        '{"user": {"work_context": {"summary": "At A."}, "topOfMind": ["One.", "Two."],'
        ' "personalContext": "null"},'
        ' "recentMonths": "A move.", "history": {"earlierContext": 3}}'
    )
    patch = parse_patch(answer)
    assert patch.user == UserPatch(work_context="At A.", top_of_mind="One. Two.")
    assert patch.history == HistoryPatch(recent_months="A move.")
    assert parse_patch('{"user": {"workContext": ""}}').user.work_context == "", "an empty one clears"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "expected one JSON object"),
        ("I have nothing to add.", "expected one JSON object"),
        ('{"add": [], "remove": [', "expected one JSON object"),
        (f'{{"add": [{TEA}, {{"content": "cut', "expected one JSON object"),
        ("[]", "expected one JSON object"),
        ('{"answer": "nothing"}', "expected one JSON object"),
        ('{"user": {"workContext": 3}}', "user.workContext: expected text"),
        ('{"user": "Ada"}', "user: expected an object"),
        ('{"remove": [3]}', "remove.0: expected the id"),
    ],
)
def test_an_answer_without_anything_usable_is_refused(answer: str, problem: str) -> None:
    with pytest.raises(InvalidAnswer, match=problem):
        parse_patch(answer)
