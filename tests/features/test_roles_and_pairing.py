"""Roles, who waits and who did what, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.people import Pairing
from bot.store.read_models import list_turns
from tests.contract.store.inbound_messages import accept, admission, message
from tests.platforms.web.people import give
from tests.platforms.web.serving import World, world
from tests.unit.bot.access.test_policy import entries


async def role_of(service: World, entry: str) -> str:
    """The role that was given, "" for none."""
    given = (await service.http.get("/api/access")).json()["given"]
    return next((one["role"] for one in given if one["entry"] == entry), "")


async def test_roles_are_given_and_taken(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.put("/api/access/telegram:7", json={"role": "admin"})
        assert answer.status_code == 200
        assert answer.json() | {"at": 0} == {
            "entry": "telegram:7",
            "role": "admin",
            "name": "",
            "by": "web:owner",
            "at": 0,
            "changeable": True,
            "erasable": "telegram:7",
        }
        assert await role_of(service, "telegram:7") == "admin"
        assert service.service.core.people
        assert (await service.http.delete("/api/access/telegram:7")).status_code == 204
        assert (await service.http.delete("/api/access/telegram:7")).status_code == 404
        assert not service.service.core.people
        listed = (await service.http.get("/api/audit")).json()
        assert [(one["action"], one["subject"], one["person"]) for one in listed["entries"]] == [
            ("take", "telegram:7", "web:owner"),
            ("give", "telegram:7", "web:owner"),
        ]
        assert listed["next"] is None


@pytest.mark.parametrize(
    ("entry", "body", "status", "told"),
    [
        ("telegram", {"role": "member"}, 422, "expected platform:id"),
        ("@ann", {"role": "member"}, 422, "expected platform:id"),
        ("telegram:bob", {"role": "member"}, 422, "expected a person's numeric id after telegram:"),
        ("slack:team:bob", {"role": "member"}, 422, "expected a team id after slack:team:"),
        ("telegram:7", {"role": "king"}, 422, "role"),
        ("telegram:7", {}, 422, "role"),
        ("slack:team:T024BE7LD", {"role": "admin"}, 422, "slack:team:T024BE7LD can only be"),
    ],
)
async def test_what_cannot_be_given(
    tmp_path: Path, entry: str, body: dict[str, str], status: int, told: str
) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.put(f"/api/access/{entry}", json=body)
        assert (answer.status_code, told in answer.text) == (status, True), answer.text
        assert (await service.http.get("/api/access")).json()["given"] == []


async def test_roles_come_in_pages(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        entries = [f"telegram:{number}" for number in range(101, 106)]
        for entry in reversed(entries):
            await give(service, entry, "member")
        found, cursor = [], ""
        while cursor is not None:
            answer = (await service.http.get("/api/access", params={"limit": 2, "cursor": cursor})).json()
            found.append([one["entry"] for one in answer["given"]])
            cursor = answer["next"]
        assert found == [entries[:2], entries[2:4], entries[4:]]


async def test_who_waits_is_listed_without_the_code(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        db, now = service.service.db, service.service.clock.now()
        asked = admission(message(), Verdict.NOTICE, notice="x", pairing=Pairing("SECR-ETSS", 3600.0))
        await accept(db, asked, now=now)
        answer = await service.http.get("/api/access")
        [one] = answer.json()["waiting"]
        assert (one["account"], one["person"], one["name"]) == ("tg", "telegram:7", "Ann")
        assert "SECR" not in answer.text


async def test_a_code_lets_somebody_in_and_they_are_told(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        db, now = service.service.db, service.service.clock.now()
        asked = admission(message(), Verdict.NOTICE, notice="x", pairing=Pairing("SECR-ETSS", 3600.0))
        [told] = await accept(db, asked, now=now)
        answer = await service.http.post("/api/access/pair", json={"code": "secr etss", "role": "admin"})
        assert answer.status_code == 200, answer.text
        given = answer.json()
        assert (given["entry"], given["role"], given["name"], given["by"]) == (
            "tg:7",
            "admin",
            "Ann",
            "web:owner",
        )
        shown = (await service.http.get("/api/access")).json()
        assert shown["waiting"] == []
        assert await role_of(service, "tg:7") == "admin"
        assert service.service.core.people
        welcome = (await db.transact(list_turns, told.conversation))[0]
        assert "you now have access" in welcome.parts[0].content.lower()
        again = await service.http.post("/api/access/pair", json={"code": "SECR-ETSS"})
        assert again.status_code == 404


async def test_codes_cannot_be_guessed_on_and_on(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answers = [
            (await service.http.post("/api/access/pair", json={"code": f"AAAA-AAA{number}"})).status_code
            for number in range(6)
        ]
        assert answers == [404] * 5 + [429]
        deeds = (await service.http.get("/api/audit")).json()["entries"]
        assert [deed["action"] for deed in deeds] == ["guessing stopped"] + ["wrong code"] * 5
        assert (await service.http.post("/api/access/pair", json={"code": ""})).status_code == 422


async def test_deeds_page_by_page_and_of_one_person(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        now = service.service.clock.now()
        for number in range(5):
            actor = Actor(f"k{number}", f"telegram:{number % 2}", "", "tg", "c1")
            await service.service.db.transact(
                record_event, actor, AuditEvent("command", f"/{number}"), now + number
            )
        first = (await service.http.get("/api/audit", params={"limit": 3})).json()
        assert [one["subject"] for one in first["entries"]] == ["/4", "/3", "/2"]
        rest = (await service.http.get("/api/audit", params={"limit": 3, "cursor": first["next"]})).json()
        assert [one["subject"] for one in rest["entries"]] == ["/1", "/0"]
        mine = (await service.http.get("/api/audit", params={"person": "telegram:1"})).json()
        assert [one["subject"] for one in mine["entries"]] == ["/3", "/1"]


async def test_what_the_configuration_says_is_changed_there(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        rules = service.service.config.access.model_copy(
            update={"owners": entries("telegram:1"), "blocked": entries("telegram:2")}
        )
        core = service.service.core
        core.apply_config(core.config.model_copy(update={"access": rules}))
        shown = (await service.http.get("/api/access")).json()
        assert shown["configured"] == [
            {"entry": "telegram:1", "role": "owner", "account": "", "not_on": [], "name": ""},
            {"entry": "telegram:2", "role": "blocked", "account": "", "not_on": [], "name": ""},
        ]
        for entry, role in (("telegram:1", "blocked"), ("telegram:1", "admin"), ("telegram:2", "member")):
            answer = await service.http.put(f"/api/access/{entry}", json={"role": role})
            assert answer.status_code == 409, answer.text
            assert "; change it there" in answer.text
        assert (await service.http.get("/api/access")).json()["given"] == []


TWO = """
access: {owners: ["telegram:1"], members: ["telegram:3"], blocked: ["telegram:2"]}
channels:
  one: {platform: telegram, enabled: false, bot_token: "123456:abcdefghijklmnopqrstuvwxyz"}
  two: {platform: telegram, enabled: false, bot_token: "123457:abcdefghijklmnopqrstuvwxyz",
        access: {default: closed, owners: ["telegram:5"], blocked: ["two:6"]}}
"""


async def test_the_rules_of_single_accounts_are_shown(tmp_path: Path) -> None:
    async with world(tmp_path, extra=TWO) as service:
        shown = (await service.http.get("/api/access")).json()
        assert (shown["default"], shown["defaults"]) == ("pair", [{"account": "two", "default": "closed"}])
        assert [
            (one["entry"], one["role"], one["account"], one["not_on"]) for one in shown["configured"]
        ] == [
            ("telegram:1", "owner", "", ["two"]),
            ("telegram:3", "member", "", []),
            ("telegram:2", "blocked", "", []),
            ("telegram:5", "owner", "two", []),
            ("two:6", "blocked", "two", []),
        ]


@pytest.mark.parametrize(
    ("entry", "role", "told"),
    [
        ("two:6", "member", "config.yaml gives two:6 the role blocked on two"),
        ("telegram:6", "member", "config.yaml gives telegram:6 the role blocked on two"),
        ("one:6", "member", ""),
        ("telegram:5", "admin", "config.yaml gives telegram:5 the role owner on two"),
        ("one:1", "admin", "config.yaml gives one:1 the role owner"),
        ("two:1", "admin", ""),
        ("two:2", "member", "config.yaml gives two:2 the role blocked"),
        ("two:3", "admin", ""),
    ],
)
async def test_the_rules_of_single_accounts_are_kept(
    tmp_path: Path, entry: str, role: str, told: str
) -> None:
    async with world(tmp_path, extra=TWO) as service:
        answer = await service.http.put(f"/api/access/{entry}", json={"role": role})
        assert answer.status_code == (409 if told else 200), answer.text
        assert told in answer.text
        assert await role_of(service, entry) == ("" if told else role)
