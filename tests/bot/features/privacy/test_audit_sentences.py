"""Audit events as sentences with the names of people and chats."""

from __future__ import annotations

import re
from pathlib import Path

from bot.domain import ChatKind
from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from bot.texts import texts_for
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
                AuditEvent("approval", "turn 12", "Approve"),
                AuditEvent("approval", "turn 12", "left"),
                AuditEvent("read", "turns of all conversations", "tg"),
                AuditEvent("read", "memory person:tg:telegram:8"),
                AuditEvent("settings restored", "version 3"),
                AuditEvent("command", "/title"),
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
            "Ann set the recording of Operations to 30 days",
            "Ann restarted the account tg",
            "Ann entered a wrong pairing code",
            "Ann rated an answer: {up}",
            "Ann: something new x y",
            "Ann changed the agent's memory of Ben",
            "Ann changed the agent's memory of Operations",
            "Ann revoked the role of Telegram user",
            "Ann decided an approval request: Approve",
            "Ann decided an approval request: left undecided",
            "Ann read answers in all conversations",
            "Ann read somebody's memory",
            "Ann restored version 3 of the settings",
            "Ann used /title",
            "Owner restarted the account tg",
        ]
        shown = (await sentences(service, "zh"))[::-1]
        assert shown == [
            "Ann 授予了 Ben“管理员”角色",
            "Ann 收回了 Ben 的角色",
            "Ann 查看了会话“Ben”",
            "Ann 将 Operations 的消息留存设为 30 天",
            "Ann 重启了账号 tg",
            "Ann 输入了错误的授权码",
            "Ann 评价了一个回答：{up}",
            "Ann：something new x y",
            "Ann 修改了智能体对 Ben 的记忆",
            "Ann 修改了智能体对 Operations 的记忆",
            "Ann 收回了 Telegram 用户 的角色",
            "Ann 处理了一个审批请求：Approve",
            "Ann 处理了一个审批请求：未作决定",
            "Ann 查看了所有会话中的回答",
            "Ann 查看了他人的记忆",
            "Ann 恢复了设置的第 3 版",
            "Ann 使用了 /title",
            "所有者 重启了账号 tg",
        ]


def test_every_action_has_a_sentence() -> None:
    """Those that the code names; actions of areas end with "changed"."""
    source = "\n".join(path.read_text() for path in Path("bot").rglob("*.py"))
    named = set(re.findall(r'AuditEvent\(\s*"([a-z ]+)"', source)) | {
        f"{area} changed" for area in ("memory", "threads", "skills", "agents", "mcp")
    }
    assert len(named) > 25
    assert [
        one for one in sorted(named) if not texts_for("en").has(f"sentence_{one.replace(' ', '_')}")
    ] == []
