"""When a conversation is summarized, and which of its messages go."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.middleware.summary_cut import SUMMARY, WRITTEN_AFTER, CutRules, Measure, count_tokens

WINDOW = 1_000
DEFAULT = CutRules.of(("fraction", 0.75), ("fraction", 0.25), WINDOW)


def human(number: int, tokens: int = 50, **extra: Any) -> HumanMessage:
    return HumanMessage("word " * (tokens * 4 // 5), id=f"h{number}", additional_kwargs=extra)


def answer(number: int, tokens: int = 50, *calls: str, used: int = 0) -> AIMessage:
    made = [{"name": "look", "args": {}, "id": call, "type": "tool_call"} for call in calls]
    usage = {"input_tokens": used, "output_tokens": 0, "total_tokens": used} if used else None
    text = "word " * (tokens * 4 // 5)
    return AIMessage(text, id=f"a{number}", tool_calls=made, usage_metadata=usage)


def result(call: str, tokens: int = 50) -> ToolMessage:
    return ToolMessage("word " * (tokens * 4 // 5), tool_call_id=call, id=f"t-{call}")


def summary(tokens: int = 50, after: str = "") -> HumanMessage:
    return human(0, tokens, lc_source=SUMMARY, **{WRITTEN_AFTER: after})


def turns(count: int, tokens: int = 50) -> list[AnyMessage]:
    return [one for number in range(count) for one in (human(number, tokens), answer(number, tokens))]


def ids(messages: list[AnyMessage]) -> list[str | None]:
    return [one.id for one in messages]


def test_it_is_due_at_the_share_of_the_window_and_keeps_the_other_share() -> None:
    assert DEFAULT.select_due(turns(6)) == []
    said = turns(8)
    assert sum(map(count_tokens, said)) >= 750
    going = DEFAULT.select_due(said)
    assert 0 < sum(map(count_tokens, said[len(going) :])) <= 250
    assert ids(going) == ids(said[: len(going)])


@pytest.mark.parametrize(("text", "least", "most"), [("word " * 400, 450, 600), ("漢字" * 250, 480, 560)])
def test_languages_count_as_models_count_them(text: str, least: int, most: int) -> None:
    assert least <= count_tokens(HumanMessage(text)) <= most


def test_what_the_provider_reported_counts_with_what_came_after() -> None:
    said = [human(1), answer(1, used=700), human(2, 60)]
    assert Measure.of(said).total >= 760
    assert DEFAULT.select_due([human(0, 250), *said]) != []
    # Estimated at a third of what was reported, so that less of it fits into what is kept.
    assert Measure.of([human(1, 200), answer(1, 50, used=750)]).scale == pytest.approx(3, rel=0.1)


@pytest.mark.guard(
    "system prompt and tools are no reason to summarize more",
    "agent/middleware/summary_cut.py",
    "if grown * SIGNIFICANT < before[last] or not grown:",
    "if True:",
    against="wasted tokens",
)
def test_system_prompt_and_tools_are_no_reason_to_summarize_more() -> None:
    """Every report includes them, so the growth between two of them is that of the messages."""
    said = [human(1), answer(1, used=3_050), human(2, 100), answer(2, used=3_200), human(3)]
    measure = Measure.of(said)
    assert measure.scale == pytest.approx(1, abs=0.1)
    assert measure.sum_all == pytest.approx(sum(map(count_tokens, said)), rel=0.1)
    assert measure.total >= 3_250
    dense = [human(1), answer(1, used=3_100), human(2, 100), answer(2, used=3_400)]
    assert Measure.of(dense).scale == pytest.approx(2, rel=0.1)


@pytest.mark.guard(
    "usage from before a summary does not trigger the next one",
    "agent/middleware/summary_cut.py",
    "if message.id in cuts:",
    "if False:",
    against="wasted tokens",
)
def test_usage_from_before_a_summary_is_out_of_date() -> None:
    said = [summary(after="a1"), answer(1, used=900), human(2)]
    assert Measure.of(said).total < 250
    assert Measure.of([*said, answer(2, used=800)]).total >= 800


@pytest.mark.guard(
    "a cut saves a quarter of what triggers it",
    "agent/middleware/summary_cut.py",
    "* WORTHWHILE >= limit for kind",
    ">= 0 for kind",
    against="wasted tokens",
)
def test_a_cut_that_saves_too_little_is_not_made() -> None:
    pasted = [human(1, 60), answer(1, 60), human(2, 700)]
    assert Measure.of(pasted).total >= 750
    assert DEFAULT.select_due(pasted) == []
    assert ids(DEFAULT.select_due([human(0, 100), *pasted])) == ["h0", "h1", "a1"]
    assert DEFAULT.select_due([summary(700), human(1), answer(1)]) == [], "a summary again of a summary alone"


def test_it_keeps_less_if_what_should_be_kept_leaves_nothing_to_save() -> None:
    rules = CutRules.of(("tokens", 400), ("messages", 20), WINDOW)
    assert ids(rules.select_due(turns(6))) == ids(turns(6)[:10]), "all but the last turn"


def test_a_limit_of_messages_is_kept_in_a_large_window_too() -> None:
    rules = CutRules.of(("messages", 8), ("fraction", 0.25), 1_000_000)
    assert ids(rules.select_due(turns(4))) == ids(turns(4)[:6])


def test_any_alternative_is_enough_and_a_clause_needs_all_its_sizes() -> None:
    either = CutRules.of([("messages", 4), ("tokens", 10_000)], ("messages", 2), WINDOW)
    assert ids(either.select_due(turns(3))) == ["h0", "a0", "h1", "a1"]
    both = CutRules.of({"messages": 4, "tokens": 10_000}, ("messages", 2), WINDOW)
    assert both.select_due(turns(3)) == []


@pytest.mark.guard(
    "the last message of a person stays",
    "agent/middleware/summary_cut.py",
    "return [at for at in range(cut) if at not in asked]",
    "return list(range(cut))",
    against="lost words",
)
def test_the_last_message_of_a_person_stays_when_its_turn_is_cut() -> None:
    said = [human(1), *[one for n in range(9) for one in (answer(n, 50, f"c{n}"), result(f"c{n}"))]]
    going = DEFAULT.select_due(said)
    assert going
    assert "h1" not in ids(going)


def test_on_request_most_goes_whatever_the_size_of_the_window() -> None:
    rules = CutRules.of(("fraction", 0.75), ("fraction", 0.25), 1_000_000)
    said = turns(10)
    going = rules.select_most(said)
    left = sum(map(count_tokens, said)) - sum(map(count_tokens, going))
    assert left <= sum(map(count_tokens, said)) // 4
    assert rules.select_most(turns(3)) == []
    assert rules.select_most([]) == []
    assert rules.select_most([summary(900), *turns(2)]) == []


@pytest.mark.guard(
    "the request stays when another message joined its turn",
    "agent/middleware/summary_cut.py",
    "return {found[0], *(found[-1:] if is_in_progress else [])} if found else set()",
    "return {found[0]} if found else set()",
    against="lost words",
)
def test_the_request_and_the_newest_message_that_joined_its_turn_stay() -> None:
    said = [human(0), answer(0), human(1, 10), human(2, 10), answer(1, 300, "c1"), result("c1", 100)]
    said += [human(3, 10), answer(2, 300, "c2"), result("c2", 10), answer(3, 300, "c3"), result("c3", 10)]
    gone = ["h0", "a0", "h2", "a1", "t-c1", "a2", "t-c2"]
    assert ids(DEFAULT.select_due(said)) == gone
    assert ids(DEFAULT.select_most([*said, answer(4, 10)])) == gone, "also after the turn"


@pytest.mark.guard(
    "a tool call and its result stay together",
    "agent/middleware/summary_cut.py",
    "cut = _move_off_pairs(messages, cut)",
    "cut = cut",
    against="broken conversations",
)
@pytest.mark.parametrize("seed", range(40))
def test_no_result_is_ever_without_its_call(seed: int) -> None:
    dice = Random(seed)
    said: list[AnyMessage] = []
    for number in range(12):
        said.append(human(number, dice.randint(5, 60)))
        calls = [f"c{number}-{one}" for one in range(dice.randint(0, 4))]
        said.append(answer(number, 10, *calls))
        for call in dice.sample(calls, len(calls)):
            said += [human(900 + len(said), 5)] if dice.random() < 0.2 else []
            said.append(result(call, dice.randint(5, 60)))
    kept = CutRules.of(("messages", 3), ("messages", dice.randint(1, 10)), WINDOW)
    for going in (kept.select_due(said), DEFAULT.select_due(said), DEFAULT.select_most(said)):
        gone = set(ids(going))
        for one in said:
            if isinstance(one, AIMessage):
                results = {f"t-{call['id']}" for call in one.tool_calls}
                assert not results & gone or results <= gone
                assert not results or (one.id in gone) == (results <= gone)
