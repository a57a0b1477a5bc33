"""Words of one person planted in private and in a group, and a search of a data directory for them."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.runtime.run_saver import compressing_serde
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import ServiceProcess, config_text
from tests.harness.waiters import answers, until

ANN, BEN = 1001, 1002
PRIVATE, GROUP, FILE, HEARD, EDITED = (
    "quokka7731",
    "ibexes8842",
    "tapirs9953",
    "lemurs1164",
    "okapis2275",
)
FORWARDED, PLANNED, LISTED, QUOTED = "dugong4497", "jackal5508", "serval6619", "wombat7720"
NAME = 'Ann "Quill"'
SHOWN = "Quill"
WORDS = (PRIVATE, GROUP, FILE, HEARD, EDITED, FORWARDED, PLANNED, LISTED, QUOTED, SHOWN)
BEN_SAID = "the regatta starts on sunday"
CONFIG = """models: [{name: scripted, use: "roebot_testing.agent.remembering:RememberingModel"}]
memory: {debounce_seconds: 60}"""
SECONDS = 60.0


def group_config(emulator: TelegramEmulator) -> str:
    """A configuration in which Ben is an admin, so that he can have the group recorded."""
    access = f'access: {{default: allow, admins: ["telegram:{BEN}"]}}'
    return config_text(emulator, model=CONFIG).replace("access: {default: allow}", access)


async def ask(emulator: TelegramEmulator, text: str, service: ServiceProcess, **more: object) -> str:
    """The bot's next message in the chat of a person or group."""
    chat = int(str(more.get("chat") or more.get("user")))
    before = len(answers(emulator, chat)) if chat in emulator.world.chats else 0
    emulator.people.says(text, **more)  # type: ignore[arg-type]
    await until(lambda: len(answers(emulator, chat)) > before, SECONDS, service.log)
    return answers(emulator, chat)[-1].text


async def plant(emulator: TelegramEmulator, service: ServiceProcess) -> int:
    """Plant the words, in every place that they can reach, and return the group."""
    bot = f"@{emulator.world.bot.username}"
    group = emulator.people.make_group("team")
    await ask(emulator, f"my private code is {PRIVATE} and nobody knows", service, user=ANN)
    await ask(emulator, f"{bot} /record on", service, user=BEN, chat=group)
    said = f"my harbour code is {GROUP} and nobody knows"
    await ask(emulator, f"{bot} {said}", service, user=ANN, name=NAME, chat=group)
    file = {"media": "document", "data": f"notes: {FILE}".encode(), "filename": "notes.txt"}
    await ask(emulator, f"{bot} read this", service, user=ANN, name=NAME, chat=group, **file)
    first = emulator.people.says(f"I also heard of {HEARD} today", user=ANN, name=NAME, chat=group)
    emulator.people.edits(group, first.id, f"I also heard of {HEARD} and of {EDITED} today")
    forwarding = {"author": NAME, "author_id": ANN, "user": BEN, "name": "Ben", "chat": group}
    emulator.people.forwards(f"{FORWARDED} was there", **forwarding)
    emulator.people.says(f"milk\n{LISTED}\nsoap", user=ANN, name=NAME, chat=group)
    emulator.people.forwards("from a hidden account", author=NAME, user=BEN, name="Ben", chat=group)
    await ask(emulator, f"{bot} whose was that?", service, user=BEN, name="Ben", chat=group)
    task = f'{{"description": "feed it", "prompt": "feed the {PLANNED}", "subagent_type": "general-purpose"}}'
    await ask(emulator, f"{bot} please [tool=task {task}]", service, user=ANN, name=NAME, chat=group)
    before = len(answers(emulator, BEN)) if BEN in emulator.world.chats else 0
    emulator.people.forwards(f"{QUOTED} is here", author=NAME, author_id=ANN, user=BEN, name="Ben")
    await until(lambda: len(answers(emulator, BEN)) > before, SECONDS, service.log)
    quoting = f"{bot} [reply=Ann said that {said}, and {BEN_SAID}] {BEN_SAID}"
    await ask(emulator, quoting, service, user=BEN, name="Ben", chat=group)
    return group


async def finished(service: ServiceProcess) -> None:
    """Wait until the erasure is finished."""
    await until(lambda: _is_finished(service.home), SECONDS, service.log)


def _is_finished(home: Path) -> bool:
    with closing(sqlite3.connect(f"file:{home}/bot.db?mode=ro", uri=True)) as database:
        found = database.execute("SELECT finished_at FROM erasures").fetchall()
    return bool(found) and all(at for (at,) in found)


def find_words(home: Path, words: tuple[str, ...] = WORDS) -> list[str]:
    """Where words are: in the bytes of any file, or in a value of a database, decoded and decompressed."""
    found = []
    for path in sorted(home.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        found += [f"{path.relative_to(home)}: {word}" for word in words if word.encode() in data]
        if data.startswith(b"SQLite format 3"):
            stored = "\n".join(_decoded_values(path))
            found += [f"{path.name} (decoded): {word}" for word in words if word in stored]
    return found


def stored_text(home: Path) -> str:
    """Everything in the databases, decoded."""
    return "\n".join(text for path in sorted(home.rglob("*.db")) for text in _decoded_values(path))


def _decoded_values(path: Path) -> Iterator[str]:
    serde = compressing_serde(JsonPlusSerializer())
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            rows = database.execute(f'SELECT * FROM "{name}"')
            columns = [column[0] for column in rows.description]
            for row in rows:
                entry = dict(zip(columns, row, strict=True))
                for value in row:
                    yield from _decode(value, str(entry.get("type") or ""), serde)


def _decode(value: object, kind: str, serde: object) -> Iterator[str]:
    if not isinstance(value, bytes):
        yield str(value)
        return
    yield value.decode(errors="replace")
    with suppress(zlib.error):
        yield zlib.decompress(value).decode(errors="replace")
    if kind:
        with suppress(Exception):  # a column of another kind in the same row
            yield repr(serde.loads_typed((kind, value)))  # type: ignore[attr-defined]
