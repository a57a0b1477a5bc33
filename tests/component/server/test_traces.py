"""The trace of a turn over HTTP: what a real run leaves behind, in bounds, and for whom."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.domain import ChatKind, Part, PartKind, PartState, ProgressState, Sender, StepKind, ToolStep
from bot.server.api.traces import MAX_SPANS, MAX_TEXT, TraceBuilder
from bot.store.admission_types import Verdict
from bot.store.interrupts import open_interrupt
from bot.store.read_models import TurnView, list_turns
from bot.store.traces import TurnTimes
from bot.store.turns import PartChange, load_turn, save_turn
from bot.turn import ModelCall, RunTrace, TurnKind, TurnMessage, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web import serving
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import World, world

SECRET = "1:secret-0123456789"
MODELS = f"""models:
  - {{name: main, use: "roebot_testing.agent:ScriptedChatModel", price: {{input: 1.0, output: 2.0}},
     script: {{usage: [40, 2]}}}}
channels: {{tg: {{platform: telegram, enabled: false, bot_token: "{SECRET}"}}}}
title: {{enabled: false}}
memory: {{enabled: false}}
sandbox: {{enabled: false}}
run_limits: {{currency: EUR}}
"""


async def trace(client: Any, turn: int) -> dict[str, Any]:
    answer = await client.get(f"/api/turns/{turn}/trace")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def spans(found: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [span for span in found["spans"] if span["kind"] == kind]


async def test_a_run_of_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MODELS", MODELS)
    async with world(tmp_path, graph="lead_agent", extra=MODELS) as service:
        text = 'please list my schedules for today [tool=schedule {"action": "list"}]'
        posted = await service.say(await service.open(), text)
        turn = await service.turn(posted["turn"])
        found = await trace(service.http, turn["id"])
        [said], [queue], [run] = (spans(found, kind) for kind in ("message", "queue", "run"))
        assert (said["detail"]["text"], said["parent"]) == (text, "")
        assert (run["name"], run["state"], run["parent"]) == ("main", "done", "")
        assert queue["begin"] <= queue["end"] == run["begin"] <= run["end"] <= found["end"]
        models = spans(found, "model")
        assert len(models) == 2
        for span in models:
            detail = span["detail"]
            assert (detail["input_tokens"], detail["output_tokens"]) == (40, 2)
            assert detail["cost"] == pytest.approx(44e-6)
            assert (detail["attempt"], span["state"]) == (1, "done")
            assert run["begin"] <= span["begin"] <= span["end"] <= run["end"]
        [tool] = spans(found, "tool")
        assert (tool["name"], tool["parent"], tool["state"]) == ("schedule", "run", "done")
        assert models[0]["begin"] <= tool["begin"] <= tool["end"] <= run["end"]
        [delivery] = spans(found, "delivery")
        assert (delivery["state"], delivery["detail"]["kind"]) == ("done", "text")
        assert not found["truncated"]
        assert turn["model"] == "main"
        assert turn["usage"]["total_tokens"] == 84


async def test_the_failure_of_a_run_and_its_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MODELS", MODELS)
    async with world(tmp_path, graph="lead_agent", extra=MODELS) as service:
        posted = await service.say(await service.open(), f"hello {SECRET} [fail=auth]")
        turn = await service.turn(posted["turn"])
        found = await trace(service.http, turn["id"])
        [run] = spans(found, "run")
        assert run["state"] == "failed"
        assert run["detail"]["error"]
        [model] = spans(found, "model")
        assert (model["state"], model["detail"]["error"]) == ("failed", "ModelAuthenticationError")
        assert SECRET not in str(found)


def view(**more: Any) -> TurnView:
    said = TurnMessage(1, "e1", "1", ANN, "x" * 5000, 1.0)
    given: dict[str, Any] = {
        **{"id": 7, "conversation": 1, "kind": TurnKind.CHAT, "state": TurnState.DONE, "thread_id": "t"},
        **{"run_id": "r", "repeats": 0, "replaced": False, "stopped": False, "error": ""},
        **{"created_at": 2.0, "finished_at": 20.0, "messages": (said,), "model": "main"},
    }
    return TurnView(**{**given, **more})


def build(of: TurnView, run: RunTrace | None = None, answered: float = 0.0) -> dict[str, Any]:
    times = TurnTimes(run, {1: 2.0}, {0: (18.0, "")}, answered)
    built = TraceBuilder(of, times, lambda text: text.replace(SECRET, "***")).build()
    return built.model_dump(mode="json")


def test_it_is_bounded_and_has_no_secrets() -> None:
    step = ToolStep("bash", f"key {SECRET}", ProgressState.DONE, "y" * 3000, 1.0)
    calls = tuple(ModelCall("m", 3.0 + n, 4.0 + n) for n in range(600))
    found = build(view(steps=(step,)), RunTrace(3.0, 15.0, calls, (("c1", 5.0),)))
    assert found["truncated"]
    assert len(found["spans"]) == MAX_SPANS
    [tool] = spans(found, "tool")
    assert tool["detail"] == {"arguments": "key ***", "result": "y" * MAX_TEXT}
    assert (tool["begin"], tool["end"]) == (5.0, 6.0)
    assert len(spans(found, "message")[0]["detail"]["text"]) == MAX_TEXT
    assert SECRET not in str(found)


def test_attempts_and_subagents_have_their_place() -> None:
    step = ToolStep("task", "", ProgressState.FAILED, kind=StepKind.SUBAGENT, title="Find it")
    todo = ToolStep("", "", ProgressState.DONE, kind=StepKind.TODO, title="one")
    calls = (
        ModelCall("a", 3.0, 4.0, error="RateLimitError"),
        ModelCall("b", 6.0, 7.0, task="c1", error="TimeoutError"),
        ModelCall("a", 4.0, 5.0),
        ModelCall("b", 7.0, 8.0, task="c1"),
        ModelCall("a", 8.0, 9.0),
    )
    found = build(view(steps=(todo, step)), RunTrace(3.0, 15.0, calls, (("c1", 5.5),)))
    [subagent] = spans(found, "subagent")
    assert (subagent["state"], subagent["detail"], subagent["begin"]) == ("failed", {"title": "Find it"}, 5.5)
    shown = [(one["name"], one["parent"], one["detail"]["attempt"]) for one in spans(found, "model")]
    assert shown == [
        ("a", "run", 1),
        ("a", "run", 2),
        ("b", subagent["id"], 1),
        ("b", subagent["id"], 2),
        ("a", "run", 1),
    ]


def test_a_question_lasts_until_it_is_answered() -> None:
    asked = Part(0, PartKind.TEXT, "Delete?", PartState.FINAL, choices=("yes", "no"))
    [open_] = spans(build(view(parts=(asked,), asks=True)), "approval")
    assert (open_["begin"], open_["end"], open_["state"]) == (20.0, None, "active")
    [answered] = spans(build(view(parts=(asked,)), answered=25.0), "approval")
    assert (answered["end"], answered["state"]) == (25.0, "done")
    assert spans(build(view(), answered=25.0), "approval") == []


async def stored(service: World, text: str, **more: Any) -> int:
    """A turn on Telegram with an answer, a tool call and model calls; its id."""
    db, now = service.service.db, service.service.clock.now()
    [taken] = await accept(db, admission(message(text, **more), Verdict.COMMAND), now=now)
    assert taken.turn is not None
    part = PartChange(Part(0, PartKind.TEXT, f"about {text}", PartState.FINAL, "9"))
    step = ToolStep("bash", f"echo {text}", ProgressState.DONE, text, 1.0)
    run = RunTrace(now, now + 1, (ModelCall(f"model of {text}", now, now + 1),), (("c1", now),))
    given: dict[str, Any] = {"state": TurnState.DONE, "steps": (step,), "trace": run}
    await db.transact(save_turn, taken.turn, [part], now, **given)
    return int(taken.turn)


async def test_nobody_traces_what_they_may_not_read(tmp_path: Path) -> None:
    """Turns of several people in random chats, traced by everybody."""
    chance = random.Random(4)
    people = [replace(ANN), replace(BEN), *(Sender(str(number), f"P{number}") for number in (20, 21, 22))]
    async with world(tmp_path, extra=CHATS) as service:
        turns: dict[int, tuple[str, str]] = {}
        for number in range(40):
            sender, word = chance.choice(people), f"planted-{number:02}"
            more: dict[str, Any] = {"chat": f"p{sender.id}", "sender": sender}
            if chance.random() < 0.3:
                more |= {"chat": "-100", "kind": ChatKind.GROUP}
            turn = await stored(service, word, **more)
            turns[turn] = (sender.id if more["chat"] != "-100" else "", word)
        own = (await service.turn((await service.say(await service.open(), "planted-web"))["turn"]))["id"]
        for reader in people:
            async with signed_in(service, reader) as client:
                for turn, (owner, word) in turns.items():
                    answer = await client.get(f"/api/turns/{turn}/trace")
                    assert answer.status_code == (200 if owner == reader.id else 404)
                    assert (word in answer.text) is (owner == reader.id)
                assert (await client.get(f"/api/turns/{own}/trace")).status_code == 404
        async with signed_in(service, ANN) as ann:
            await give(service, "telegram:7", "admin")
            for turn, (_, word) in turns.items():
                assert word in (await ann.get(f"/api/turns/{turn}/trace")).text
            assert (await ann.get(f"/api/turns/{own}/trace")).status_code == 404
        read = [deed for deed in await service.audited(100) if deed["action"] == "read"]
        assert {deed["person"] for deed in read} == {"telegram:7"}
        assert (await service.http.get("/api/turns/9999/trace")).status_code == 404


async def test_an_open_approval_is_active(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        turn, db = await stored(service, "delete it"), service.service.db
        claim = await db.transact(load_turn, turn)
        assert claim is not None
        await db.transact(open_interrupt, claim.turn, "i1", ["yes", "no"], 1.0)
        [shown] = await db.transact(list_turns, None, limit=1)
        assert shown.asks
        assert [one["state"] for one in spans(await trace(service.http, turn), "approval")] == ["active"]
