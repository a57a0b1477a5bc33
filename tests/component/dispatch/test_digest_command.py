"""`/digest` and what it makes: through the dispatcher, under a clock that the test moves."""

from __future__ import annotations

import re

import pytest

from agent.shared.envelope import without_envelopes
from agent.shared.run_identity import SCHEDULED
from bot.access import Role
from bot.domain import ChatKind, Isolation, IsolationPolicy, Mention, MentionKind, Sender
from bot.errors import DeliveryCategory, DeliveryError
from bot.features.schedules.run_history import list_scheduled_runs
from bot.features.schedules.schedule_store import (
    ScheduleState,
    list_chat_schedules,
    list_schedules,
    load_schedule,
)
from bot.features.schedules.service import ScheduleService, ScheduleTarget
from bot.store.audit import AuditEvent, list_audit_entries
from bot.store.conversations import load_conversation
from bot.store.interrupts import open_interrupt
from bot.store.turns import load_turn
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_thread_commands import says

HOUR, DAY = 3600.0, 86_400.0
PLACE = ("rec", "c1")


async def scheduled(at: Bench, text: str) -> int:
    """The number of what is made by that `/digest` and saved."""
    drafted = await says(at, f"/digest {text}")
    found = re.search(r"/digest ok (\d+)", drafted)
    assert found is not None, drafted
    assert f"Schedule {found[1]} is active." in await says(at, f"/digest ok {found[1]}")
    return int(found[1])


async def later(at: Bench, seconds: float, *, step: float) -> None:
    """So much later, when what was due then is done."""
    await at.rest(seconds, step=step)
    await at.rest(3.0)


def failing(run: ScriptedRun) -> None:
    """A script whose run fails."""
    run.end("error")


def asked(at: Bench) -> list[str]:
    """What the agent was asked, run by run."""
    return [without_envelopes(run.request.messages[0]["content"]) for run in at.runtime.runs.values()]


async def test_a_draft_shows_its_next_firings_and_does_nothing(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        assert (await says(at, "/digest weekdays 9:00 What is new?")).splitlines() == [
            "`weekdays 9:00`: the agent will answer `What is new?`, and I'll post the result. Next runs:",
            "",
            "- Tue 1970-01-13 09:00 UTC",
            "- Wed 1970-01-14 09:00 UTC",
            "- Thu 1970-01-15 09:00 UTC",
            "- Fri 1970-01-16 09:00 UTC",
            "- Mon 1970-01-19 09:00 UTC",
            "",
            "Send `/digest ok 1` to save it, or `/digest drop 1` to discard it. "
            "Unsaved drafts are discarded after an hour or two.",
        ]
        assert (await says(at, "/digest")).startswith("Nothing is scheduled in this chat.")
        await later(at, 2 * DAY, step=600.0)
        assert asked(at) == []
        assert (await says(at, "/digest ok 1")).startswith("There is no schedule 1 here")


async def test_what_is_saved_is_answered_at_its_time_day_after_day(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, answer_with("nothing new")
    async with at.running():
        assert await scheduled(at, "weekdays 9:00 What is new?") == 1
        before = len(at.adapter.texts())
        await later(at, DAY, step=300.0)
        assert asked(at) == ["(Scheduled run: weekdays 9:00)\n\nWhat is new?"]
        assert at.adapter.texts()[before:] == ["nothing new"]
        await later(at, 2 * DAY, step=600.0)
        assert len(asked(at)) == 3
        shown = await says(at, "/digest show 1")
        assert shown.count(": delivered") == 3
        assert "- Tue 1970-01-13 09:00 UTC: delivered" in shown
        assert "1. `weekdays 9:00` `What is new?`: Fri 1970-01-16 09:00 UTC" in await says(at, "/digest")


async def test_the_agent_is_told_which_messages_are_texts_of_schedules(at: Bench) -> None:
    """Its memory leaves them out."""
    at.scheduling, at.runtime.script = True, answer_with("nothing new")
    async with at.running():
        await scheduled(at, "weekdays 9:00 What is new?")
        await says(at, "/digest now 1")
        await at.until(lambda: len(asked(at)) == 1)
        await says(at, "And now?")
        await later(at, DAY, step=300.0)
    extra = [run.request.messages[0]["additional_kwargs"] for run in at.runtime.runs.values()]
    assert [one.get(SCHEDULED) for one in extra] == [True, None, True]


async def test_a_text_is_said_without_the_agent(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "in 2 hours say *Tea* is ready")
        await later(at, HOUR, step=60.0)
        assert "*Tea* is ready" not in at.adapter.texts()
        await later(at, HOUR + 60, step=60.0)
        assert at.adapter.texts().count("*Tea* is ready") == 1
        assert at.runtime.runs == {}
        assert "finished" in await says(at, "/digest")


async def test_pause_resume_now_and_delete(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "daily 9:00 say Good morning")
        assert (await says(at, "/digest pause 1")).startswith("Schedule 1 is paused.")
        assert "not active" in await says(at, "/digest pause 1")
        await later(at, DAY, step=600.0)
        assert at.adapter.texts().count("Good morning") == 0
        assert (await says(at, "/digest resume 1")).startswith(
            "Schedule 1 is active. Next run: Wed 1970-01-14"
        )
        assert await says(at, "/digest now 1") == "Running schedule 1 now, in addition to its regular runs."
        await at.rest(5.0)
        assert at.adapter.texts().count("Good morning") == 1
        assert await says(at, "/digest delete 1") == "Schedule 1 has been deleted."
        await later(at, DAY, step=600.0)
        assert at.adapter.texts().count("Good morning") == 1
        assert "There is no schedule 1" in await says(at, "/digest show 1")


async def test_the_time_zone_of_a_chat_and_one_that_is_said(at: Bench) -> None:
    async with at.running():
        assert "time zone is UTC" in await says(at, "/digest zone")
        assert "`Nowhere/Town` is not a known time zone" in await says(at, "/digest zone Nowhere/Town")
        assert "time zone is now Asia/Tokyo" in await says(at, "/digest zone Asia/Tokyo")
        deeds = [
            one.deed for one in await at.db.transact(list_audit_entries) if one.deed.action == "digest zone"
        ]
        assert deeds == [AuditEvent("digest zone", "rec:c1", "Asia/Tokyo")]
        assert "- Tue 1970-01-13 09:00 Asia/Tokyo" in await says(at, "/digest daily 9:00 say hi")
        said = await says(at, "/digest daily 9:00 america/new_york say hi")
        assert "`daily 9:00`: I'll post `hi`. Next runs:" in said
        assert "- Mon 1970-01-12 09:00 America/New_York" in said


async def test_what_is_refused_says_why(at: Bench) -> None:
    async with at.running():
        for text, reason in (
            ("pause", "Which schedule? Add its number, as in `/digest pause 3`"),
            ("delete it", "Which schedule? Add its number, as in `/digest delete 3`"),
            ("2026-02-30 9:00 say hi", "`2026-02-30` is not a valid date"),
            ("paus 1", "Did you mean `/digest pause`"),
            ("summarize this", "I couldn't find a time."),
            ("daily 9:00", "What should happen at that time?"),
            ("every 7 minutes say hi", "don't divide an hour evenly"),
            ("every minute say hi", "at least 5 min apart"),
            ("0 9 30 2 * say hi", "it would never run"),
            ("daily 9:00 say " + "x" * 4001, "The limit is 4,000 characters"),
            ("ok 99", "There is no schedule 99 here"),
        ):
            assert reason in await says(at, f"/digest {text}"), text
        assert await at.db.transact(list_chat_schedules, *PLACE) == []


async def test_a_time_that_is_unclear_leads_to_a_question(at: Bench) -> None:
    """Any of its options makes the schedule when it is sent."""
    async with at.running():
        assert (await says(at, "/digest weekdays at 5 say Tea")).splitlines() == [
            "`at 5` could be in the morning or in the afternoon. Which do you mean?",
            "",
            "- `every weekday at 05:00`",
            "- `every weekday at 17:00`",
            "",
            "Nothing has been saved yet. Send the one you mean, for example "
            "`/digest every weekday at 05:00: say Tea`.",
        ]
        assert "every weekday at 17:00" in await says(at, "/digest every weekday at 17:00: say Tea")
        assert "not what follows: `except friday say Tea`" in await says(
            at, "/digest daily 9:00 except friday say Tea"
        )
        assert len(await at.db.transact(list_schedules, 10, 10)) == 0


async def test_rules_beyond_cron_are_previewed_and_run(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        drafted = await says(at, "/digest first monday of the month at 9 say Rent")
        assert drafted.splitlines()[2:7] == [
            "- Mon 1970-02-02 09:00 UTC",
            "- Mon 1970-03-02 09:00 UTC",
            "- Mon 1970-04-06 09:00 UTC",
            "- Mon 1970-05-04 09:00 UTC",
            "- Mon 1970-06-01 09:00 UTC",
        ]
        await scheduled(at, "every other day at 9 starting tomorrow say Water")
        await later(at, 3 * DAY, step=600.0)
        assert at.adapter.texts().count("Water") == 2


async def test_a_schedule_is_made_after_a_mention_without_the_slash(at: Bench) -> None:
    at.runtime.script = answer_with("a digest")
    group = {"chat": "group", "kind": ChatKind.GROUP}
    async with at.running():
        for text, told in (
            ("digest what we said yesterday", "a digest"),
            ("digest daily 9:00 say: Tea", "/digest ok 1"),
            ("digest ok 1", "Schedule 1 is active."),
        ):
            await at.adapter.hears(text, **group)
            await at.rest(2.0)
            assert told in at.adapter.texts("group")[-1]
        assert "Tea" in at.adapter.texts("group")[-2]


async def test_whose_it_is(at: Bench) -> None:
    at.role = None
    async with at.running():
        at.role = Role.MEMBER
        await scheduled(at, "daily 9:00 say hi")
        await at.adapter.hears("/digest delete 1", person="8")
        await at.rest(1.0)
        assert "belongs to someone else" in at.adapter.texts()[-1]
        await at.adapter.hears("/digest show 1", chat="elsewhere", person="8")
        await at.rest(1.0)
        assert "There is no schedule 1 here" in at.adapter.texts("elsewhere")[-1]
        at.role = Role.ADMIN
        for words in ("show", "delete"):
            await at.adapter.hears(f"/digest {words} 1", chat="group", kind=ChatKind.GROUP, person="9")
            await at.rest(1.5)
            assert "There is no schedule 1 here" in at.adapter.texts("group")[-1]
        await at.adapter.hears("/digest delete 1", chat="elsewhere", person="9")
        await at.rest(1.0)
        assert at.adapter.texts("elsewhere")[-1] == "Schedule 1 has been deleted."


async def test_nobody_who_may_not_talk_any_more_is_worked_for(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "daily 9:00 say hi")
        at.allowed = False
        await later(at, DAY, step=600.0)
        assert at.adapter.texts().count("hi") == 0
        at.allowed = True
        assert "skipped: its creator no longer had access" in await says(at, "/digest show 1")


async def test_what_the_owner_schedules_from_the_page_is_done_on_any_platform(at: Bench) -> None:
    at.scheduling, at.role, at.runtime.script = True, None, answer_with("nothing new")
    place = ScheduleTarget("rec", "recording", "group", ChatKind.GROUP)
    async with at.running():
        assert at.core is not None
        service = at.core.part(ScheduleService)
        wanted = await service.parse_request("in 1 hour What is new?", "rec", "group")
        assert wanted is not None
        for maker in (Sender("web:owner", account="web"), Sender("owner")):
            await service.create(wanted, place, maker, None, ScheduleState.ACTIVE)
        await later(at, 1.1 * HOUR, step=60.0)
        assert at.adapter.texts("group") == ["nothing new"]
        [run] = at.runtime.runs.values()
        assert run.request.configurable["roles"] == ["owner", "admin", "member"]
        found = await at.db.transact(list_schedules, 10, 10)
    assert [one.person for one in found] == ["recording:owner", "web:owner"]


async def test_thirty_hours_away(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "daily 9:00 say once a day")
        await scheduled(at, "in 12 hours say once at all")
        await scheduled(at, "every 2 hours say often")
    await at.clock.leap(30 * HOUR)
    async with at.running():
        await later(at, 120.0, step=5.0)
        said = at.adapter.texts()
        assert said.count("often") == 1
        assert said.count("once at all") == 0
        missed = [text for text in said if "was due at" in text]
        assert sorted(text[:12] for text in missed) == ["⏰ Schedule 1", "⏰ Schedule 2"]
        assert any("(`in 12 hours`) was due at 1970-01-13 01:46 UTC" in text for text in missed)
        assert any("(`daily 9:00`) was due at 1970-01-13 09:00 UTC" in text for text in missed)
        shown = await says(at, "/digest show 3")
        assert ": delivered" in shown
    [firing] = await at.db.transact(list_scheduled_runs, 3)
    assert firing.missed == 14


async def test_a_clock_that_is_set_back_or_forward(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "every 5 minutes say tick")
        await later(at, 11 * 60.0, step=5.0)
        ticks = at.adapter.texts().count("tick")
        assert ticks == 2
    at.clock.set(at.clock.now() - 9 * 60.0)
    async with at.running():
        await later(at, 9 * 60.0, step=5.0)
        assert at.adapter.texts().count("tick") == ticks
        await later(at, 5 * 60.0, step=5.0)
        assert at.adapter.texts().count("tick") == ticks + 1
    at.clock.set(at.clock.now() + 3 * HOUR)
    async with at.running():
        await later(at, 60.0, step=5.0)
        assert at.adapter.texts().count("tick") == ticks + 2


async def test_a_firing_is_left_out_while_the_one_before_works(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, None
    async with at.running():
        await scheduled(at, "every 5 minutes look around")
        await later(at, 11 * 60.0, step=5.0)
        [run] = at.runtime.runs.values()
        run.say("at last")
        run.end()
        await later(at, 5 * 60.0, step=5.0)
        assert len(at.runtime.runs) == 2
        skipped = [firing.skipped for firing in await at.db.transact(list_scheduled_runs, 1)]
        assert skipped == ["", "overlap", ""]


async def test_a_failed_firing_is_tried_again_and_its_maker_told_once(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, failing
    async with at.running():
        await scheduled(at, "every 1 hours look around")
        await later(at, 10 * 60.0, step=5.0)
        assert asked(at) == []
        before = len(at.adapter.texts())
        await later(at, 20 * 60.0, step=5.0)
        assert len(asked(at)) == 3
        assert len(at.adapter.texts()[before:]) == 1, "only the last try says that it failed"
        await later(at, 4 * HOUR, step=10.0)
        told = [text for text in at.adapter.texts() if "failed several times in a row" in text]
        assert len(told) == 1
        at.runtime.script = answer_with("fine again")
        await later(at, 2 * HOUR, step=10.0)
        one = await at.db.transact(load_schedule, 1)
        assert one is not None
        assert one.failures == 0


async def test_what_can_not_be_delivered_is_no_success(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "every 1 hours say hi")
        at.adapter.fail("post", DeliveryError(DeliveryCategory.NOT_FOUND, "chat not found"))
        await later(at, HOUR, step=5.0)
        [firing] = await at.db.transact(list_scheduled_runs, 1)
        assert (firing.delivered, firing.problem, firing.attempt) == (False, "not_found", 1)
        assert "failed (not_found)" in await says(at, "/digest show 1")


@pytest.mark.parametrize("isolation", list(Isolation))
async def test_in_a_group_the_result_is_a_message_of_its_own_and_replies_go_on(
    at: Bench, isolation: Isolation
) -> None:
    at.scheduling, at.runtime.script = True, answer_with("two incidents")
    at.policy = IsolationPolicy(isolation)
    async with at.running():
        await at.adapter.hears("/digest in 2 hours list incidents", chat="group", kind=ChatKind.GROUP)
        await at.rest(1.0)
        await at.adapter.hears("/digest ok 1", chat="group", kind=ChatKind.GROUP)
        await later(at, 2 * HOUR + 30, step=5.0)
        result = [*at.adapter.shown.values()][-1]
        assert (result.text, result.address.chat, result.address.reply_to) == ("two incidents", "group", "")
        await at.adapter.hears("and yesterday?", chat="group", kind=ChatKind.GROUP, to=result.id)
        await at.rest(5.0)
        first, second = (run.request.thread_id for run in at.runtime.runs.values())
        assert first == second


async def test_a_question_that_is_open_is_not_answered_by_a_schedule(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, answer_with("ok")
    async with at.running():
        await scheduled(at, "in 2 hours look around")
        await says(at, "hello")
        view = await at.db.transact(load_conversation, 1)
        assert view is not None
        claimed = await at.db.transact(load_turn, 3)
        assert claimed.turn is not None
        await at.db.transact(open_interrupt, claimed.turn, "question-1", None, at.clock.now())
        await later(at, 2 * HOUR + 30, step=5.0)
        requests = [run.request for run in at.runtime.runs.values()]
        assert len(requests) == 2
        assert requests[1].answers == ""
        assert requests[1].thread_id != requests[0].thread_id


async def test_two_schedulers_on_one_store_fire_once(at: Bench) -> None:
    at.scheduling = True
    async with at.running():
        await scheduled(at, "every 5 minutes say tick")
        async with at.running(recover=False):
            await later(at, 16 * 60.0, step=5.0)
        assert at.adapter.texts().count("tick") == 3
    one = await at.db.transact(load_schedule, 1)
    assert one is not None
    assert one.state is ScheduleState.ACTIVE


async def test_an_admin_schedules_for_another_chat(at: Bench) -> None:
    at.scheduling, at.role, at.runtime.script = True, None, answer_with("two incidents")
    group = {"chat": "team", "kind": ChatKind.GROUP}
    async with at.running():
        await at.adapter.hears("hello", person="7", **group)
        await at.rest(2.0)
        before = at.adapter.texts("team")
        await at.adapter.hears("/digest to team in 1 hour list incidents", person="9", chat="eve")
        await at.rest(1.0)
        assert "Results go to chat `team`, not here." in at.adapter.texts("eve")[-1]
        await at.adapter.hears("/digest ok 1", person="9", chat="eve")
        await later(at, 1.1 * HOUR, step=30.0)
        assert at.adapter.texts("team")[len(before) :] == ["two incidents"]
        for person, text, told in (
            ("7", "/digest to team in 1 hour x", "Only admins"),
            ("9", "/digest to nowhere in 1 hour x", "I don't know the chat `nowhere`"),
            ("9", "/digest to ann in 1 hour x", "`ann` is a private chat"),
        ):
            await at.adapter.hears("hi", person="8", chat="ann")
            await at.adapter.hears(text, person=person, chat=f"of-{person}")
            await at.rest(2.0)
            assert at.adapter.texts(f"of-{person}")[-1].startswith(told)


async def test_another_chat_is_named_by_its_link(at: Bench) -> None:
    """Adapters show a link to a channel by its name; its id is that of the mention."""
    at.scheduling, at.role = True, None
    links = tuple(Mention(MentionKind.CHANNEL, *one) for one in (("ops", "c-1"), ("ops team", "c-2")))
    async with at.running():
        for chat in ("c-1", "c-2"):
            await at.adapter.hears("hello", person="7", chat=chat, kind=ChatKind.GROUP)
        await at.rest(2.0)
        for text, told in (
            ("/digest to #ops in 1 hour list what #ops team did", "Results go to chat `c-1`, not here."),
            ("/digest to #ops team in 1 hour list incidents", "Results go to chat `c-2`, not here."),
            ("/digest to <#c-1> in 1 hour list incidents", "Results go to chat `c-1`, not here."),
            ("/digest to #dev in 1 hour list incidents", "I don't know the chat `dev`"),
        ):
            await at.adapter.hears(text, person="9", chat="eve", mentions=links)
            await at.rest(1.0)
            assert told in at.adapter.texts("eve")[-1]
        unclear = "/digest to #ops team daily at 5 Asia/Tokyo list incidents"
        await at.adapter.hears(unclear, person="9", chat="eve", mentions=links)
        await at.rest(1.0)
        assert "`/digest to c-2 every day at 05:00 Asia/Tokyo: list incidents`" in at.adapter.texts("eve")[-1]


async def test_what_a_failed_try_had_shown_is_taken_back(at: Bench) -> None:
    def breaking(run: ScriptedRun) -> None:
        run.say("The first half of")
        run.end("error")

    at.scheduling, at.runtime.script = True, breaking
    async with at.running():
        await scheduled(at, "in 1 hour look around")
        before = set(at.adapter.shown)
        await later(at, HOUR + 30.0, step=5.0)
        assert len(asked(at)) == 1
        assert set(at.adapter.shown) <= before
        at.runtime.script = answer_with("All is well")
        await later(at, 120.0, step=5.0)
        assert at.adapter.texts()[-1] == "All is well"


async def test_somebody_who_asks_again_hears_that_it_failed(at: Bench) -> None:
    at.scheduling, at.runtime.script = True, failing
    async with at.running():
        await scheduled(at, "in 1 hour look around")
        await later(at, HOUR + 30.0, step=5.0)
        before = len(at.adapter.texts())
        await says(at, "/retry")
        await at.rest(5.0)
        assert any("⚠️" in text for text in at.adapter.texts()[before:])
