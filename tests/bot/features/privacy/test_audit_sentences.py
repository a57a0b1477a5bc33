"""Audit events as sentences with the names of people and chats."""

from __future__ import annotations

from pathlib import Path

from bot.domain import ChatKind
from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS
from tests.platforms.web.serving import World, world


async def sentences(service: World, language: str = "en") -> list[str]:
    answer = await service.http.get("/api/audit", headers={"accept-language": language})
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["entries"]]


async def test_people_and_chats_are_named_in_both_languages(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        db, now = service.service.db, service.service.clock.now()
        for sender in (ANN, BEN):
            notice = admission(message(sender=sender, chat=f"p{sender.id}"), Verdict.COMMAND)
            [taken] = await accept(db, notice, now=now)
        of = admission(message(chat="-100", kind=ChatKind.GROUP), Verdict.COMMAND)
        await accept(db, of, now=now)
        await service.service.core.chat_titles.note_title("tg", "-100", "Operations")
        person = "telegram:7"
        for number, deed in enumerate(
            (
                AuditEvent("give", "tg:8", "admin"),
                AuditEvent("take", "telegram:8"),
                AuditEvent("read", f"conversation {taken.conversation}", "tg p8 of telegram:8"),
                AuditEvent("record", "tg:-100", "30 days"),
                AuditEvent("restart", "tg"),
                AuditEvent("wrong code"),
                AuditEvent("rating", "turn 3", "{up}"),
                AuditEvent("something new", "x", "y"),
                AuditEvent("memory changed", "person:tg:telegram:8", "POST facts"),
                AuditEvent("memory changed", "group:tg:-100"),
                AuditEvent("take", "telegram:99"),
            )
        ):
            await db.transact(record_event, Actor(f"k{number}", person, "", "tg", ""), deed, now)
        await db.transact(
            record_event, Actor("own", "web:owner", "", "web", ""), AuditEvent("restart", "tg"), 1.0
        )
        assert (await sentences(service))[::-1] == [
            "Ann granted the role admin to Ben",
            "Ann revoked the role of Ben",
            "Ann read the conversation “Ben”",
            "Ann changed the recording of Operations: 30 days",
            "Ann restarted the account tg",
            "Ann: wrong code",
            "Ann: feedback turn 3 {up}",
            "Ann: something new x y",
            "Ann: memory changed Ben POST facts",
            "Ann: memory changed Operations",
            "Ann revoked the role of Telegram user",
            "Owner restarted the account tg",
        ]
        shown = (await sentences(service, "zh"))[::-1]
        assert shown[:3] == ["Ann 授予 Ben 角色 admin", "Ann 收回了 Ben 的角色", "Ann 查看了 会话“Ben”"]
        assert shown[-1] == "所有者 重启了账号 tg"
