"""Crons: create, update, search, count and delete. No schedule comes due during a run of the suite."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene

YEARLY = "0 0 1 1 *"
INPUT = {"log": ["a"]}
END = datetime(2099, 1, 1, tzinfo=UTC)


async def create(scene: Scene) -> None:
    call, crons = scene.call, scene.client.crons
    made = await call("stateless", crons.create("steps", schedule=YEARLY, input=INPUT))
    thread = await scene.thread()
    await call("of a thread", crons.create_for_thread(thread, "steps", schedule=YEARLY, input=INPUT))
    options: Any = {
        "metadata": {"m": 1},
        "config": {"tags": ["t"], "configurable": {"user": "u"}},
        "interrupt_before": ["first"],
        "interrupt_after": ["second"],
        "multitask_strategy": "enqueue",
        "end_time": END,
        "enabled": False,
        "timezone": "Europe/Berlin",
        "stream_mode": ["values"],
        "stream_subgraphs": True,
        "stream_resumable": True,
        "durability": "sync",
    }
    await call("all options", crons.create("steps", schedule=YEARLY, on_run_completed="keep", **options))
    await call(
        "all options of a thread", crons.create_for_thread(thread, "steps", schedule=YEARLY, **options)
    )
    zone = ZoneInfo("Asia/Tokyo")
    await call("time zone as an object", crons.create("steps", schedule=YEARLY, timezone=zone))
    await call("context", crons.create("configured", schedule=YEARLY, context={"model": "x"}))
    await call("schedule by name", crons.create("steps", schedule="@yearly"))
    await call("schedule with seconds", crons.create("steps", schedule="0 0 1 1 * 30"))
    await call("invalid schedule", crons.create("steps", schedule="often"))
    await call("schedule that never comes", crons.create("steps", schedule="0 0 31 2 *"))
    await call("unknown time zone", crons.create("steps", schedule=YEARLY, timezone="Moon/Base"))
    past = datetime(2001, 1, 1, tzinfo=UTC)
    await call("end in the past", crons.create("steps", schedule=YEARLY, end_time=past))
    await call("unknown graph", crons.create("nowhere", schedule=YEARLY))
    await call("unknown assistant", crons.create(UNKNOWN, schedule=YEARLY))
    await call("unknown thread", crons.create_for_thread(UNKNOWN, "steps", schedule=YEARLY))
    wrong: Any = "archive"
    await call("unknown on_run_completed", crons.create("steps", schedule=YEARLY, on_run_completed=wrong))
    hook = crons.create("steps", schedule=YEARLY, webhook="https://example.com/hook")
    await call("webhook of a host without an address", hook)
    await call("unknown strategy", crons.create("steps", schedule=YEARLY, multitask_strategy="later"))
    hook = crons.create("steps", schedule=YEARLY, webhook="http://127.0.0.1:9/")
    await call("private webhook", hook)
    wrong = {"assistant_id": "steps"}
    await call("no schedule", scene.client.http.post("/runs/crons", json=wrong))
    await call("delete", crons.delete(made["cron_id"]))
    await call("delete again", crons.delete(made["cron_id"]))
    await call("delete an unknown one", crons.delete(UNKNOWN))
    await call("delete an id that is no UUID", crons.delete("abc"))


async def update(scene: Scene) -> None:
    call, crons = scene.call, scene.client.crons
    made = await call("create", crons.create("steps", schedule=YEARLY, input=INPUT, metadata={"a": 1}))
    known = made["cron_id"]
    changes: Any
    for name, changes in {
        "schedule": {"schedule": "0 12 2 2 *"},
        "end_time": {"end_time": END},
        "no end_time": {"end_time": None},
        "input": {"input": {"log": ["b"]}},
        "metadata": {"metadata": {"b": 2}},
        "config": {"config": {"configurable": {"user": "u"}}},
        "webhook": {"webhook": "https://example.com/hook"},
        "interrupts": {"interrupt_before": ["first"], "interrupt_after": ["second"]},
        "on_run_completed": {"on_run_completed": "keep"},
        "disabled": {"enabled": False},
        "time zone": {"timezone": "Asia/Tokyo"},
        "streams": {"stream_mode": ["values"], "stream_subgraphs": True, "stream_resumable": True},
        "durability": {"durability": "exit"},
        "nothing": {},
        "invalid schedule": {"schedule": "often"},
        "unknown time zone": {"timezone": "Moon/Base"},
        "unknown on_run_completed": {"on_run_completed": "archive"},
        "enabled that is no bool": {"enabled": "maybe"},
    }.items():
        await call(name, crons.update(known, **changes))
    other = (await crons.create("configured", schedule=YEARLY))["cron_id"]
    await call("context", crons.update(other, context={"model": "x"}))
    await call("context beside a config", crons.update(known, context={"model": "x"}))
    await call("unknown cron", crons.update(UNKNOWN, enabled=False))
    await call("id that is no UUID", crons.update("abc", enabled=False))


async def search(scene: Scene) -> None:
    call, crons = scene.call, scene.client.crons
    assistant = (await scene.client.assistants.create("steps"))["assistant_id"]
    thread, mark = await scene.thread(), {"mark": scene.mark}
    for number in (1, 2):
        options: Any = {"schedule": f"0 0 {number} 1 *", "metadata": {**mark, "number": number}}
        await call(f"create {number}", crons.create(assistant, enabled=number == 1, **options))
    of_thread = crons.create_for_thread(thread, assistant, schedule=YEARLY, metadata=mark)
    await call("create for a thread", of_thread)
    await call("assistant", crons.search(assistant_id=assistant))
    await call("thread", crons.search(thread_id=thread))
    await call("enabled", crons.search(assistant_id=assistant, enabled=True))
    await call("disabled", crons.search(assistant_id=assistant, enabled=False))
    await call("metadata", crons.search(metadata={**mark, "number": 2}))
    await call("limit and offset", crons.search(assistant_id=assistant, limit=1, offset=1))
    fields: Any = ("created_at", "updated_at", "next_run_date", "end_time", "thread_id", "cron_id")
    for field in fields:
        found = crons.search(assistant_id=assistant, sort_by=field, sort_order="asc")
        exact = field not in {"end_time", "thread_id", "cron_id"}
        await call(f"sort by {field}", _list_schedules(found, exact))
    await call("select", crons.search(assistant_id=assistant, select=["cron_id", "schedule", "payload"]))
    wrong: Any = "color"
    await call("unknown sort_by", crons.search(assistant_id=assistant, sort_by=wrong))
    await call("unknown field in select", crons.search(assistant_id=assistant, select=[wrong]))
    await call("limit 0", crons.search(assistant_id=assistant, limit=0))
    await call("limit 10,000", crons.search(assistant_id=assistant, limit=10_000))
    await call("of an unknown assistant", crons.search(assistant_id=UNKNOWN))
    await call("assistant id that is no UUID", crons.search(assistant_id="abc"))
    await call("count", crons.count(assistant_id=assistant))
    await call("count of a thread", crons.count(thread_id=thread))
    await call("count by metadata", crons.count(metadata={**mark, "number": 1}))
    await call("count of none", crons.count(assistant_id=UNKNOWN))
    await call("delete the thread", scene.client.threads.delete(thread))
    await call("crons of the deleted thread", crons.search(thread_id=thread))
    await call("delete the assistant", scene.client.assistants.delete(assistant))
    await call("crons of the deleted assistant", crons.count(assistant_id=assistant))


async def _list_schedules(search: Any, exact: bool) -> Any:
    """Return the schedules in their order, or their number where ids decide the order."""
    found = [item["schedule"] for item in await search]
    return found if exact else len(found)


SCENARIOS = (create, update, search)
