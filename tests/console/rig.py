"""A service with the data of a company: 200 people, 60 chats, 5,000 turns, 40 schedules, 90 days of usage."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Table

from bot.domain import ChatKind, ProgressState, ReplyAddress, Sender, StepKind, ToolStep
from bot.store import schema
from bot.store.connection import Connection, encode_address, encode_choices, encode_sender, encode_steps, sql
from bot.texts import texts_for
from bot.turn import ModelCall, RunTrace
from tests.platforms.web.serving import World
from tests.unit.agent.skills.skill_archives import archive, text

PEOPLE, CHATS, TURNS, SCHEDULES, DAYS = 200, 60, 5_000, 40, 90
ACCOUNTS = {"telegram": "telegram", "slack": "slack", "discord": "discord", "feishu": "feishu"}
CHANNELS = """
channels:
  telegram: {bot_token: "123456:abcdefghijklmnopqrstuvwxyz0123456789", base_url: "http://127.0.0.1:9"}
"""
LONG_NAMES = (
    "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh Alexander",
    "阿不都热依木·买买提艾力·吐尔逊江·古丽巴哈尔·阿卜杜拉·热合曼·亚森·依明·库尔班江·麦麦提明",
    "عبد الرحمن بن عبد العزيز بن محمد بن إبراهيم آل عبد اللطيف الأنصاري",
    "กรุงเทพมหานคร อมรรัตนโกสินทร์ มหินทรายุธยา มหาดิลกภพ นพรัตนราชธานี",
)
"""Names of about 60 characters in four scripts."""
RICH = """## Result

Energy is $E = mc^2$, and $$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}$$

| Service | Owner | January | February | March | April | May | June | July | August |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
| Billing | Ana | 12,400 | 11,900 | 12,750 | 13,020 | 12,400 | 11,900 | 12,750 | 13,020 |

```python
def total(values: list[float]) -> float: return sum(value for value in values if value and value > 0)
```

```mermaid
flowchart LR
  A[Request] --> B{Cached?} -->|no| C[Model]
```

> Quoted. <kbd>Ctrl</kbd> https://example.com/a/very/long/address/that/does/not/end/soon/1234567

<details><summary>More</summary>

- [x] done[^1]

</details>

[^1]: A note.
"""
"""An answer of every kind."""
LONG_ID = "a-name-of-sixty-characters-without-any-space-to-break-it-at-1"
CONFIG = f"""
models:
  - {{name: scripted, display_name: Scripted model, use: "roebot_testing.agent.model:ScriptedChatModel"}}
  - {{name: {LONG_ID}, display_name: "{LONG_NAMES[2]}", use: "roebot_testing.agent.model:ScriptedChatModel"}}
events:
  sources: {{alerts: {{type: alertmanager, secrets: token-of-alerts}}}}
  routes: [{{account: telegram, chat: '-1002000000004'}}]
{CHANNELS}"""
FIRST = (
    "Ana",
    "Bo",
    "Chen",
    "Dana",
    "Emil",
    "Farah",
    "Goro",
    "Hana",
    "Ivo",
    "Jun",
    "Kim",
    "Lena",
    "Mei",
    "Noor",
)
LAST = (
    "Abe",
    "Berg",
    "Costa",
    "Diaz",
    "Eklund",
    "Fischer",
    "Garcia",
    "Haddad",
    "Ito",
    "Jansen",
    "Kaya",
    "Lopez",
)
TALK = (
    ("Summarize the incident of last night.", "The queue filled up after the **02:10** deployment."),
    (
        "Which invoices are overdue?",
        "| Invoice | Due | Amount |\n|---|---|--:|\n| 2026-0412 | 3 Nov | 7,900 |",
    ),
    ("部署失败的原因是什么？", "部署失败是因为**数据库迁移**超时，已经回滚。"),
    ("Draft the release note for 2.4.", "- Faster search\n- Fewer retries\n- Tokens by model"),
    ("Run the backup and tell me its size.", "```\n$ du -sh backup\n4.2G\tbackup\n```"),
)
STATES = ("done",) * 30 + ("failed", "failed", "cancelled", "expired")
ERRORS = {
    "ModelCallFailed:auth": "The provider refused the key.",
    "ModelCallFailed:overloaded": "The model is overloaded.",
    "ModelCallFailed:context": "The context is too long.",
}
MODELS = ("claude-sonnet", "gpt-5-mini", "qwen-max")


def _people() -> list[tuple[str, str, str]]:
    """Return (account, id, name) of everybody."""
    chance = random.Random(44)
    found = []
    for number in range(PEOPLE):
        account = list(ACCOUNTS)[number % len(ACCOUNTS)]
        name = (
            LONG_NAMES[number]
            if number < len(LONG_NAMES)
            else f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        )
        found.append((account, f"{1_000_000_000 + number * 7919}", name))
    return found


def _conversations(now: float, people: Sequence[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    for number in range(CHATS):
        account, person, _ = people[number % 40]
        private = number % 3 == 0
        yield {
            "id": 1000 + number,
            "account": account,
            "platform": ACCOUNTS[account],
            "chat": person if private else f"-100{2_000_000_000 + number}",
            "chat_kind": "private" if private else "group",
            "thread_id": f"00000000-0000-4000-8000-{number:012}",
            "owner": f"{ACCOUNTS[account]}:{person}" if private else "",
            "title": TALK[number % len(TALK)][0],
            "created_at": now - DAYS * 86400,
            "active_at": now - number * 900,
        }


def _turns(
    now: float, chats: Sequence[Mapping[str, Any]], people: Sequence[tuple[str, str, str]]
) -> Iterator[dict[str, Any]]:
    chance = random.Random(45)
    for number in range(TURNS):
        chat = chance.choice(chats)
        at = now - (TURNS - number) * (DAYS * 86400 / TURNS)
        same = [one for one in people if one[0] == chat["account"]]
        account, person, _ = chance.choice(same)
        state = chance.choice(STATES)
        tokens = chance.randrange(400, 9000)
        address = ReplyAddress(account, chat["chat"], ChatKind(chat["chat_kind"]))
        yield {
            "id": 10_000 + number,
            "conversation_id": chat["id"],
            "kind": "chat",
            "state": state,
            "address": encode_address(address),
            "platform": chat["platform"],
            "thread_id": chat["thread_id"],
            "model": MODELS[number % len(MODELS)],
            "used_model": MODELS[number % len(MODELS)],
            "error": chance.choice(list(ERRORS)) if state == "failed" else "",
            "replaced": int(number % 97 == 0),
            "size": 1,
            "created_at": at,
            "finished_at": at + (14.6 if number % 4 == 0 else chance.uniform(2, 60)),
            "person": f"{ACCOUNTS[account]}:{person}",
            "input_tokens": tokens,
            "output_tokens": tokens // 5,
            "total_tokens": tokens + tokens // 5,
            "cached_tokens": tokens // 3,
            "cost": tokens * 3e-6,
            "currency": "USD",
            "steps": encode_steps(_steps(number)),
            "trace": _trace(number, at, tokens),
        }


def _steps(number: int) -> list[ToolStep]:
    if number % 4:
        return []
    done, to_check = ProgressState.DONE, "Compare the numbers with those of last week"
    return [
        ToolStep("web_search", '{"query": "status of the queue"}', done, result="3 results", seconds=1.4),
        ToolStep("task", "", done, result="No change.", seconds=6.2, kind=StepKind.SUBAGENT, title=to_check),
        ToolStep("bash", '{"command": "du -sh backup"}', done, result="4.2G backup", seconds=0.3),
    ]


def _trace(number: int, at: float, tokens: int) -> str:
    """Return when the run of a turn worked, and its model calls; "" for turns without steps."""
    if number % 4:
        return ""
    model, cheap = MODELS[number % len(MODELS)], MODELS[1]
    # Model, task, beginning and duration in seconds after the turn's, and share of its tokens.
    calls = (
        (model, "", 0.4, 1.9, 0.2),
        (cheap, "call-1", 4.1, 2.3, 0.15),
        (cheap, "call-1", 7.0, 2.7, 0.2),
        (model, "", 10.2, 0.9, 0.2),
        (model, "", 11.6, 2.6, 0.25),
    )
    return orjson.dumps(
        RunTrace(
            at + 0.3,
            at + 14.3,
            tuple(
                ModelCall(
                    name,
                    at + begin,
                    at + begin + lasted,
                    task,
                    input_tokens=int(tokens * share),
                    output_tokens=int(tokens * share / 5),
                    total_tokens=int(tokens * share * 1.2),
                    cost=tokens * share * 3e-6,
                )
                for name, task, begin, lasted, share in calls
            ),
            (("call-0", at + 2.4), ("call-1", at + 3.9), ("call-2", at + 11.2)),
        )
    ).decode()


def make_messages(
    turns: Sequence[Mapping[str, Any]], names: Mapping[str, str], talk: Sequence[tuple[str, str]] = TALK
) -> Iterator[dict[str, Any]]:
    """Return a message of each turn."""
    for turn in turns:
        id_ = turn["person"].partition(":")[2]
        yield {
            "account": turn["platform"],
            "event_id": f"event-{turn['id']}",
            "turn_id": turn["id"],
            "message_id": str(turn["id"]),
            "sender": encode_sender(Sender(id_, names[id_])),
            "text": talk[turn["id"] % len(talk)][0],
            "attachments": "",
            "sent_at": turn["created_at"],
            "accepted_at": turn["created_at"],
        }


def make_parts(
    turns: Sequence[Mapping[str, Any]], talk: Sequence[tuple[str, str]] = TALK
) -> Iterator[dict[str, Any]]:
    """Return an answer of each turn."""
    for turn in turns:
        answer = talk[turn["id"] % len(talk)][1]
        if turn["state"] == "failed":
            answer = texts_for("en")("failed", message=ERRORS[turn["error"]])
        yield {
            "turn_id": turn["id"],
            "position": 0,
            "kind": "text",
            "state": "final",
            "content": answer,
            "platform_id": f"m{turn['id']}",
            "choices": encode_choices(()),
            "updated_at": turn["finished_at"],
        }


def _schedules(now: float, chats: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for number in range(SCHEDULES):
        chat = chats[number % len(chats)]
        yield {
            "kind": ("message", "prompt", "digest")[number % 3],
            "state": "active" if number % 5 else "paused",
            "text": TALK[number % len(TALK)][0],
            "spoken": "weekdays at 9:00",
            "rule": "0 9 * * 1-5",
            "zone": "Europe/Berlin",
            "account": chat["account"],
            "platform": chat["platform"],
            "chat": chat["chat"],
            "chat_kind": chat["chat_kind"],
            "maker": encode_sender(Sender(chat["owner"].partition(":")[2] or "1000000000", "Ana Abe")),
            "person": chat["owner"],
            "made_at": now - 40 * 86400,
            "next_at": now + 3600 * (number + 1),
        }


def _access(now: float, people: Sequence[tuple[str, str, str]]) -> Iterator[tuple[Table, dict[str, Any]]]:
    for number, (account, id_, name) in enumerate(people):
        if number % 10 == 3:
            yield (
                schema.pairings,
                {
                    "code": f"code{number:04}",
                    "account": account,
                    "person": f"{ACCOUNTS[account]}:{id_}",
                    "name": name,
                    "expires_at": now + 3600,
                    "conversation_id": 1000,
                    "address": encode_address(ReplyAddress(account, id_, ChatKind.PRIVATE)),
                },
            )
        elif number % 2 == 0:
            role = "admin" if number % 40 == 0 else "member"
            entry = f"{ACCOUNTS[account]}:{id_}"
            yield (
                schema.roles,
                {
                    "entry": entry,
                    "role": role,
                    "name": name,
                    "given_by": "web:owner",
                    "given_at": now - number * 3600,
                },
            )
        yield (
            schema.audit,
            {
                "key": f"rig-{number}",
                "at": now - number * 1800,
                "person": f"{ACCOUNTS[account]}:{id_}",
                "name": name,
                "account": account,
                "action": "command",
                "subject": "/model",
                "detail": "claude-sonnet",
            },
        )


def fill(connection: Connection, now: float) -> None:
    """Insert the company's data."""
    people = _people()
    names = {id_: name for _, id_, name in people}
    chats = list(_conversations(now, people))
    turns = list(_turns(now, chats, people))
    rows: list[tuple[Table, list[dict[str, Any]]]] = [
        (schema.conversations, chats),
        (schema.turns, turns),
        (schema.inbound, list(make_messages(turns, names))),
        (schema.parts, list(make_parts(turns))),
        (schema.schedules, list(_schedules(now, chats))),
    ]
    rows += [(table, [row]) for table, row in _access(now, people)]
    rows += _talk(now)
    for table, found in rows:
        insert(connection, table, found)


def insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows with the same columns."""
    columns = list(rows[0])
    values = ", ".join(f":{column}" for column in columns)
    statement = sql(f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({values})")
    for row in rows:
        connection.execute(statement, row)


def _talk(
    now: float, talk: Sequence[tuple[str, str]] = TALK, *, first: int = 0
) -> list[tuple[Table, list[dict[str, Any]]]]:
    """Return the owner's own chats in the console: what people see first."""
    chats = [
        {
            "id": 2000 + number,
            "account": "web",
            "platform": "web",
            "chat": f"talk-{number}",
            "chat_kind": "private",
            "thread_id": f"00000000-0000-4000-9000-{number:012}",
            "owner": "web:owner",
            "title": asked,
            "created_at": now - number * 4000,
            "active_at": now - number * 4000,
        }
        for number, (asked, _) in enumerate(talk, first)
    ]
    turns = [
        {
            "id": 20_000 + number,
            "conversation_id": chat["id"],
            "kind": "chat",
            "state": "done",
            "address": encode_address(ReplyAddress("web", str(chat["chat"]), ChatKind.PRIVATE)),
            "platform": "web",
            "thread_id": chat["thread_id"],
            "size": 1,
            "created_at": now - number * 4000 - 20,
            "finished_at": now - number * 4000,
            "person": "web:owner",
            "steps": encode_steps(_steps(number * 4)),
        }
        for number, chat in enumerate(chats, first)
    ]
    return [
        (schema.conversations, chats),
        (schema.turns, turns),
        (schema.inbound, list(make_messages(turns, {"owner": "Owner"}, talk))),
        (schema.parts, list(make_parts(turns, talk))),
    ]


async def furnish(service: World) -> None:
    """Fill the store of a running service. Its graph must be `approving`: two requests wait for approval."""
    await service.service.db.transact(fill, time.time())
    await service.service.core.load_settings()
    for _ in range(2):
        conversation = await service.open(chat=f"approval-{_}")
        await service.say(conversation, "clean up")
    while (await service.http.get("/api/turns?limit=2")).json()["turns"][0]["parts"] == []:
        await service.http.get("/health")


async def equip(service: World) -> None:
    """Add one of all that the pages list and change, with long names. The configuration is `CONFIG`."""
    await service.service.db.transact(_name_chats, time.time())
    alert = {
        "status": "firing",
        "labels": {"alertname": LONG_NAMES[0], "severity": "critical"},
        "annotations": {"summary": LONG_NAMES[2]},
        "startsAt": "2026-11-01T08:00:00Z",
        "fingerprint": "f1",
    }
    server = {"type": "stdio", "command": LONG_ID, "enabled": False, "description": LONG_NAMES[3]}
    for path, body in (
        ("/api/agents", {"name": LONG_ID, "description": LONG_NAMES[1], "personality": LONG_NAMES[0]}),
        ("/api/memory/facts", {"content": LONG_NAMES[2]}),
        ("/api/mcp/servers", {"name": LONG_ID[:32], "server": server}),
    ):
        await _sent(service, path, json=body)
    await _sent(
        service,
        "/events/alerts",
        json={"version": "4", "groupKey": "g", "status": "firing", "alerts": [alert]},
        headers={"Authorization": "Bearer token-of-alerts"},
    )
    for days in (3, 5):
        version = (await service.http.get("/api/settings")).json()["version"]
        change = {"kind": "settings", "section": "approvals", "values": {"here_days": days}}
        await _sent(
            service, "/api/settings/apply", json={"changes": [change]}, headers={"If-Match": f'"{version}"'}
        )
    made = archive(service.home / "mine.skill", {"x/SKILL.md": text("mine", description=LONG_NAMES[3])})
    for replace in ("false", "true"):
        path = f"/api/skills/install?replace={replace}"
        await _sent(service, path, files={"file": (made.name, made.read_bytes())})


async def _sent(service: World, path: str, **request: Any) -> None:
    answer = await service.http.post(path, **request)
    assert answer.is_success, (path, answer.text)


def _name_chats(connection: Connection, now: float) -> None:
    """Give groups long names, and the owner a chat for each with an answer of every kind."""
    groups = [
        {"account": "telegram", "chat": f"-100{2_000_000_000 + 4 * number}", "title": name}
        for number, name in enumerate(LONG_NAMES, 1)
    ]
    insert(connection, schema.chats, groups)
    for table, rows in _talk(now, [(name, f"{name}\n\n{RICH}") for name in LONG_NAMES], first=100):
        insert(connection, table, rows)
