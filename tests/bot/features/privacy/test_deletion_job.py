"""The service deletes what has expired, and goes on after its database was away."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import Connection, text
from structlog.testing import capture_logs

from agent.shared.live_token import LiveToken
from bot.app.home import prepare_home
from bot.app.service import BotService, StartOptions
from bot.config import load_config
from bot.features.privacy.deletion_job import PURGE_EVERY, DeletionJob
from bot.store import Database
from roebot_testing.clock import ManualClock
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.store_templates import open_store
from tests.harness.waiters import until

CONFIG = """
config_version: 1
runtime: {url: "http://127.0.0.1:9", assistant_id: echo, api_key: unused}
channels: {web: {enabled: false}, terminal: {enabled: false}}
"""


async def execute(db: Database, statement: str) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    await db.schema(work)


async def count_meters(db: Database) -> int:
    def work(connection: Connection) -> int:
        return int(connection.execute(text("SELECT COUNT(*) FROM meters")).scalar_one())

    return await db.schema(work)


async def test_a_database_that_is_away_at_the_housekeeping_ends_nothing(tmp_path: Path) -> None:
    await asyncio.to_thread(prepare_home, tmp_path)
    path = tmp_path / "config.yaml"
    await asyncio.to_thread(path.write_text, CONFIG)
    loaded = await asyncio.to_thread(load_config, path, {}, tmp_path)
    db, clock = await open_store(tmp_path), ManualClock()
    options = StartOptions(tmp_path, loaded, path, {}, tmp_path, LiveToken(SERVICE_TOKEN))
    service = BotService(options, db, clock)
    await execute(db, "INSERT INTO meters (scope, start, value) VALUES ('old', 1, 1)")
    await execute(db, "ALTER TABLE meters RENAME TO away")
    with capture_logs() as logs:
        work = asyncio.create_task(service.run())
        await until(
            lambda: work.done() or any(one.get("task") == "housekeeping" for one in logs),
            20.0,
            lambda: f"{logs}",
        )
    await execute(db, "ALTER TABLE away RENAME TO meters")
    assert not work.done()
    await clock.advance(PURGE_EVERY)
    async with asyncio.timeout(20.0):
        while await count_meters(db):
            await clock.run_ready()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await db.close()


async def test_sqlite_files_that_were_copied_to_postgres_are_named(tmp_path: Path) -> None:
    await asyncio.to_thread(prepare_home, tmp_path)
    path, url = tmp_path / "config.yaml", "database: {url: postgresql://roe@127.0.0.1:9/roe}"
    db = await open_store(tmp_path)
    for more, expected in (("", []), (url, [str(tmp_path / "bot.db")])):
        await asyncio.to_thread(path.write_text, f"{CONFIG}{more}\n")
        loaded = await asyncio.to_thread(load_config, path, {}, tmp_path)
        options = StartOptions(tmp_path, loaded, path, {}, tmp_path, LiveToken(SERVICE_TOKEN))
        copies = await BotService(options, db, ManualClock()).core.part(DeletionJob).list_copies()
        assert [name for name, _ in copies] == expected
    await db.close()
