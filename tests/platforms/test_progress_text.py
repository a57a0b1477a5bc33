"""What the agent does, as people are shown it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.dispatch.run.transcript import MAX_ITEMS, ProgressTracker, RunTranscript, select_items
from bot.domain import ProgressItem, ProgressState
from bot.platforms.discord.renderer import DISCORD, render_discord
from bot.platforms.feishu.renderer import FEISHU
from bot.platforms.slack.renderer import SLACK
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.platforms.telegram.rich_renderer import TELEGRAM_RICH
from bot.render.progress import checklist, summarize_steps
from bot.render.renderer import WEB, Renderer, format_progress
from bot.runtime.interface import AttemptStarted, TextDelta, TodosUpdated, ToolProgress

PENDING, ACTIVE, DONE, FAILED = ProgressState
TITLES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=80)
ITEMS = st.lists(
    st.builds(ProgressItem, st.uuids().map(str), TITLES, st.sampled_from(ProgressState)), max_size=30
)


def todos(*states: ProgressState) -> tuple[ProgressItem, ...]:
    return tuple(ProgressItem(f"todo:{index}", f"todo {index}", state) for index, state in enumerate(states))


def work(name: str, state: ProgressState = ACTIVE, title: str | None = None) -> ToolProgress:
    return ToolProgress(ProgressItem(name, f"calls {name}" if title is None else title, state))


def titles(items: Sequence[ProgressItem]) -> list[str]:
    return [item.title for item in items]


def test_a_plan_is_shown_with_what_runs_now() -> None:
    progress = ProgressTracker()
    assert progress.record_event(TodosUpdated(todos(DONE, ACTIVE, PENDING)))
    assert progress.record_event(work("a"))
    assert progress.record_event(work("b"))
    assert progress.record_event(work("a", DONE, ""))
    assert titles(progress.items) == ["todo 0", "todo 1", "todo 2", "calls b"]


def test_without_a_plan_the_latest_steps_are_shown() -> None:
    progress = ProgressTracker()
    for number in range(MAX_ITEMS + 3):
        progress.record_event(work(str(number)))
        progress.record_event(work(str(number), FAILED if number == 5 else DONE, ""))
    assert titles(progress.items) == [f"calls {number}" for number in range(3, MAX_ITEMS + 3)]
    assert [item.state for item in progress.items].count(FAILED) == 1


def test_what_changes_nothing_is_no_news() -> None:
    progress = ProgressTracker()
    assert not progress.record_event(work("unknown", DONE, ""))
    assert progress.record_event(work("a"))
    assert not progress.record_event(work("a"))
    assert progress.record_event(TodosUpdated(todos(PENDING)))
    assert not progress.record_event(TodosUpdated(todos(PENDING)))
    progress.clear()
    assert progress.items == ()


def test_a_new_attempt_forgets_the_work_of_the_last() -> None:
    said = RunTranscript()
    assert said.record_event(TodosUpdated(todos(ACTIVE)))
    assert said.record_event(TextDelta("m", "hello"))
    assert said.record_event(AttemptStarted(2))
    assert (said.text, said.progress.items) == ("", ())


@pytest.mark.parametrize(("done", "first"), [(0, 0), (1, 0), (4, 3), (6, 4), (12, 4)])
def test_of_a_long_plan_the_part_around_the_present_is_shown(done: int, first: int) -> None:
    items = todos(*[DONE] * done, *[PENDING] * (12 - done))
    assert titles(select_items(items, ())) == [f"todo {number}" for number in range(first, first + MAX_ITEMS)]


@given(planned=ITEMS, worked=ITEMS)
def test_it_stays_compact_and_shows_what_runs(
    planned: list[ProgressItem], worked: list[ProgressItem]
) -> None:
    shown = select_items(planned, worked)
    assert len(shown) <= MAX_ITEMS
    assert len({item.id for item in shown}) == len(shown)
    running = [item for item in worked if item.state is ACTIVE]
    if planned and running:
        assert shown[-1] == running[-1]


def test_the_checklist() -> None:
    items = (
        ProgressItem("1", "Read the *figures*", DONE),
        ProgressItem("2", "mail <bob@example.com>", FAILED),
        ProgressItem("3", "1. `rm -rf` [x](y)", ACTIVE),
        ProgressItem("4", "wait", PENDING),
    )
    assert checklist(items).split("  \n") == [
        "> ✓ Read the \\*figures\\*",
        "> ✗ mail \\<bob@example.com\\>",
        "> ▸ 1. \\`rm -rf\\` \\[x\\](y)",
        "> ○ wait",
    ]


@pytest.mark.parametrize(
    ("states", "line"),
    [
        ([DONE, DONE, ACTIVE, PENDING, PENDING], "▸ Step 2 · ○ Step 3"),
        ([FAILED, DONE, ACTIVE, ACTIVE], "▸ Step 2 · ▸ Step 3"),
        ([DONE, FAILED, ACTIVE], "✗ Step 1 · ▸ Step 2"),
        ([DONE, PENDING, PENDING], "✓ Step 0 · ○ Step 1"),
        ([ACTIVE] * 5, "▸ Step 2 · ▸ Step 3 · ▸ Step 4"),
        ([DONE, DONE], "✓ Step 1"),
    ],
    ids=str,
)
def test_one_line_shows_what_matters_now(states: list[ProgressState], line: str) -> None:
    items = [ProgressItem(str(number), f"Step {number}", state) for number, state in enumerate(states)]
    assert summarize_steps(items) == line


def test_discord_shows_a_line_of_subtext() -> None:
    items = (ProgressItem("1", "# *Read* " + "x" * 60, ACTIVE), ProgressItem("2", "<@1> & <#2>", PENDING))
    shown = render_discord(format_progress(DISCORD, items))
    assert shown == f"-# ▸ # \\*Read\\* {'x' * 50}… · ○ \\<@\u200b1\\> & \\<#\u200b2\\>"


@pytest.mark.parametrize("renderer", [WEB, TELEGRAM_ENTITIES, TELEGRAM_RICH, FEISHU, DISCORD, SLACK])
@given(items=ITEMS.filter(bool))
def test_it_is_one_part_on_every_platform(renderer: Renderer, items: list[ProgressItem]) -> None:
    assert len(renderer.split(format_progress(renderer, select_items(items, ())))) == 1
