"""The overview over HTTP: what needs attention, by role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.account_state import AccountState, Live
from bot.domain import ChatKind, Part, PartKind, PartState
from bot.store.admission_types import Verdict
from bot.store.interrupts import open_interrupt
from bot.store.turns import PartChange, load_turn, save_turn
from bot.store.usage import TurnUsage
from bot.turn import TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS, give, knock, signed_in
from tests.platforms.web.serving import World, world


async def stored(service: World, text: str, state: TurnState = TurnState.DONE, **more: Any) -> int:
    """A turn on Telegram in this state, which cost 10 tokens; its id."""
    db, now = service.service.db, service.service.clock.now()
    [taken] = await accept(db, admission(message(text, **more), Verdict.CHAT), now=now)
    assert taken.turn is not None
    spent = TurnUsage(f"telegram:{more.get('sender', ANN).id}", 9, 1, 10)
    await db.transact(save_turn, taken.turn, [], now, state=state, spent=spent)
    return int(taken.turn)


async def asks(service: World, text: str, **more: Any) -> int:
    """A turn that waits for an approval; its id."""
    turn, db = await stored(service, text, **more), service.service.db
    claim = await db.transact(load_turn, turn)
    assert claim is not None
    await db.transact(open_interrupt, claim.turn, "i1", ["Approve", "Reject"], 5.0)
    part = Part(0, PartKind.TEXT, f"May I {text}?", PartState.FINAL, "9", choices=("Approve", "Reject"))
    await db.transact(save_turn, turn, [PartChange(part)], 5.0)
    return turn


async def overview(client: Any, **headers: str) -> dict[str, Any]:
    answer = await client.get("/api/overview", headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert (await client.get("/api/overview/counts", headers=headers)).json() == found["counts"]
    return found


async def test_nothing_to_do(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        found = await overview(service.http)
        assert found["spend"]["total_tokens"] == 0
        assert set(found["counts"].values()) == {0}
        empty = ("problems", "approvals", "running", "requests", "incidents", "schedules")
        assert [found[name] for name in empty] == [[]] * len(empty)


async def test_each_role_sees_its_own_work(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service, ANN) as ann:
        mine, bens = await asks(service, "send it", chat="7"), await asks(service, "go", chat="8", sender=BEN)
        group = await asks(service, "pay", chat="-100", kind=ChatKind.GROUP, sender=BEN)
        await stored(service, "oh no", TurnState.FAILED, chat="80", sender=BEN)
        works = await stored(service, "compute", TurnState.RUNNING, chat="70", sender=ANN)
        await knock(service, "tg", BEN, "AAAA-BBBB")
        found = await overview(ann)
        assert [one["turn"] for one in found["approvals"]] == [mine]
        [approval] = found["approvals"]
        assert {**approval, "conversation": 0, "title": ""} == {
            **{"conversation": 0, "turn": mine, "part": 0, "title": "", "place": "Ann", "asker": "Ann"},
            **{"tool": "", "request": "May I send it?", "choices": ["Approve", "Reject"], "at": 5.0},
            **{"may_decide": True, "rejection": "Reject", "waits_for": "Waits for you or an admin."},
            "expires_at": 5.0 + 24 * 3600,
        }
        assert [(one["turn"], one["excerpt"], one["asker"]) for one in found["running"]] == [
            (works, "compute", "Ann")
        ]
        assert found["spend"]["total_tokens"] == 20
        expected = {"problems": 0, "approvals": 1, "running": 1, "failed": 0, "requests": 0, "incidents": 0}
        assert found["counts"] == expected
        await give(service, "tg:7", "admin")
        found = await overview(ann)
        assert {one["turn"] for one in found["approvals"]} == {mine, bens, group}
        assert found["counts"] == {**expected, "approvals": 3, "failed": 1, "requests": 1}
        assert found["spend"]["total_tokens"] == 50
        assert [one["name"] for one in found["requests"]] == ["Ben"]
        assert "AAAA-BBBB" not in str(found)
        read = [deed for deed in await service.audited() if deed["action"] == "read"]
        assert [(deed["person"], deed["subject"]) for deed in read] == [("telegram:7", "overview")]


async def test_spend_is_that_of_the_day_of_the_caller(tmp_path: Path) -> None:
    """The page about usage shows the same for one day."""
    async with world(tmp_path, extra=CHATS) as service:
        db, now = service.service.db, service.service.clock.now()
        for hours in (0.5, 1.5, 2.5, 30.0):
            [taken] = await accept(db, admission(message(), Verdict.COMMAND), now=now - hours * 3600)
            await db.transact(save_turn, taken.turn, [], now, spent=TurnUsage("telegram:7", 9, 1, 10))
        for begun, expected in ((1, 10), (2, 20), (3, 30), (12, 30)):
            # Where the day began that many hours ago.
            ahead = (begun * 60 - int(now / 60)) % 1440
            params = {"ahead": ahead - 1440 * (ahead > 720), "days": 1}
            for path in ("/api/overview", "/api/usage/breakdown"):
                found = (await service.http.get(path, params=params)).json()
                used = [found["spend"]] if "spend" in found else found["rows"]
                assert sum(one["total_tokens"] for one in used) == expected, (path, begun)


async def test_approvals_are_those_that_the_caller_may_decide(tmp_path: Path) -> None:
    rules = f"{CHATS}approvals: {{by: others}}\n"
    async with world(tmp_path, extra=rules) as service, signed_in(service, ANN) as ann:
        turn = await asks(service, "pay", chat="7")
        found = await overview(ann)
        [approval] = found["approvals"]
        assert (approval["may_decide"], approval["choices"], found["counts"]["approvals"]) == (False, [], 0)
        assert approval["waits_for"] == "Waits for an admin other than you."
        await give(service, "telegram:8", "admin")
        async with signed_in(service, BEN, role="") as ben:
            [approval] = (await overview(ben))["approvals"]
            assert (approval["turn"], approval["may_decide"]) == (turn, True)
            assert approval["waits_for"] == "Waits for an admin other than Ann."


async def test_problems_have_remedies(tmp_path: Path) -> None:
    far = '  far: {platform: telegram, enabled: false, bot_token: "2:x"}'
    chats = f'channels:\n  tg: {{platform: telegram, enabled: false, bot_token: "1:x"}}\n{far}\n'
    async with world(tmp_path, extra=chats) as service, signed_in(service, ANN) as ann:
        core = service.service.core
        known = {**core.accounts.states(), "tg": ("telegram", AccountState(Live.FAILED, "wrong token"))}
        core.accounts.states = lambda: known  # type: ignore[method-assign]
        core.config_problem = "config.yaml:3: models: expected a list"
        found = (await overview(service.http))["problems"]
        assert [(one["id"], one["severity"], one["remedy"]["link"]) for one in found] == [
            ("config:", "bad", "#/settings"),
            ("account:tg", "bad", "#/accounts"),
        ]
        assert found[1]["text"] == "The account tg is not connected: wrong token"
        shown = (await overview(service.http, **{"accept-language": "zh"}))["problems"]
        assert shown[1]["text"] == "账号 tg 未连接：wrong token"
        assert (await overview(ann))["problems"] == []
        await give(service, "tg:7", "admin")
        assert [one["id"] for one in (await overview(ann))["problems"]] == ["account:tg"]
