"""Replicas of the service on one PostgreSQL database, and the faults that befall them."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import psycopg

from bot.app.home import find_service
from tests.harness.service import MODEL, ServiceProcess

PROGRAM = "tests.replicas.service"
OWNER = """SELECT substr(r.name, 9) FROM leases l JOIN leases r ON r.holder = l.holder
    WHERE l.name = %s AND l.fence <> '' AND r.name LIKE 'replica %%'"""
# Record every change of a turn's parts and state by a replica that does not own the turn's account then.
WATCH = """
CREATE TABLE late_writes (what text, turn bigint, writer text, owner text);
CREATE FUNCTION watch_writes() RETURNS trigger AS $$
DECLARE number bigint; owner text; writer text := current_setting('application_name');
BEGIN
  IF TG_TABLE_NAME = 'parts' THEN number := NEW.turn_id; ELSE number := NEW.id; END IF;
  SELECT r.name INTO owner FROM turns t JOIN conversations c ON c.id = t.conversation_id
    LEFT JOIN leases l ON l.name = 'account ' || c.account
    LEFT JOIN leases r ON r.holder = l.holder AND r.name LIKE 'replica %' WHERE t.id = number;
  IF owner IS DISTINCT FROM 'replica ' || substr(writer, 8) THEN
    INSERT INTO late_writes VALUES (TG_TABLE_NAME, number, writer, owner);
  END IF;
  RETURN NEW;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER watch_parts AFTER UPDATE ON parts FOR EACH ROW
  WHEN (OLD.choices = NEW.choices) EXECUTE FUNCTION watch_writes();
CREATE TRIGGER watch_turns AFTER UPDATE OF run_id, last_run_id, state, steps ON turns
  FOR EACH ROW WHEN (OLD.state <> 'accepted' AND OLD.stopped = NEW.stopped) EXECUTE FUNCTION watch_writes();
"""
CLOSED = "SELECT i.text FROM inbound i JOIN turns t ON t.id = i.turn_id WHERE t.finished_at > 0"
OPEN = "SELECT count(*) FROM turns WHERE state IN ('accepted', 'running', 'waiting', 'delivering')"
STUCK = """SELECT t.id, t.state, t.run_id, c.account, l.holder, r.status, r.attempt, r.fence, r.owner,
    p.until - extract(epoch FROM now()) FROM turns t JOIN conversations c ON c.id = t.conversation_id
    LEFT JOIN leases l ON l.name = 'account ' || c.account LEFT JOIN runs r ON r.run_id = t.run_id
    LEFT JOIN agent_processes p ON p.owner = r.owner
    WHERE t.state IN ('accepted', 'running', 'waiting', 'delivering')"""
REFUSED = "write_refused"
"""Event in the log of a bot whose write was refused; that of an agent is LOST."""
LOST = "lease_lost"


@dataclass
class Crowd:
    """Replicas that share `home` and the database at `url`; `server` is its administrator's URL."""

    home: Path
    url: str
    config: str
    env: dict[str, str] = field(default_factory=dict)
    members: dict[str, ServiceProcess] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    lives: int = 0

    async def add(self, name: str, **env: str) -> ServiceProcess:
        """Start a replica and wait until it and its agent answer."""
        member = self.members.setdefault(
            name, ServiceProcess(self.home, self.config, self.env, replica=name, program=PROGRAM)
        )
        self.start(name, **env)
        url = (await member.ready(60)).url
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client, asyncio.timeout(60):
            while (await client.get("/health/ready")).status_code != httpx.codes.OK:
                await asyncio.sleep(0.1)
        return member

    def start(self, name: str, **env: str) -> None:
        """Start a replica that is not running."""
        self.lives += 1
        self.members[name].start(**env)

    def is_at_work(self, name: str) -> bool:
        """Whether the replica has started and is not paused."""
        process = self.members[name].process
        if process is None or process.poll() is not None or name in self.paused:
            return False
        found = find_service(self.members[name].folder)
        return found is not None and found.pid == process.pid

    def processes(self, name: str) -> Sequence[psutil.Process]:
        """The replica's bot and agent."""
        with suppress(psutil.NoSuchProcess):
            bot = psutil.Process(self.members[name].pid)
            return [bot, *bot.children(recursive=True)]
        return []

    def kill(self, name: str) -> None:
        """kill -9 of the replica; its agent ends with it."""
        self.resume(name)
        self.members[name].kill()

    def pause(self, name: str) -> None:
        """Pause the bot and its agent, as a machine that stands still."""
        for process in self.processes(name):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)
        self.paused.add(name)

    def resume(self, name: str) -> None:
        """Let a paused replica go on."""
        for process in self.processes(name):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
        self.paused.discard(name)

    def drop_connections(self) -> None:
        """End all connections to the database."""
        self.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    def is_stopped(self, name: str) -> bool:
        """Whether the replica has stopped itself at a fault point, or has ended."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.members[name].pid).status() in (
                psutil.STATUS_STOPPED,
                psutil.STATUS_ZOMBIE,
            )
        return True

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        """What a query gives."""
        with psycopg.connect(self.url, autocommit=True, application_name="judge") as connection:
            cursor = connection.execute(query.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def owner(self, account: str) -> str:
        """The replica that owns an account, "" if none does."""
        rows = self.rows(OWNER, f"account {account}")
        return str(rows[0][0]) if rows else ""

    async def owned(self, account: str, seconds: float = 30.0, *, by: str = "", but: str = "") -> float:
        """Wait until a replica (but not `but`) owns an account; the seconds that took."""
        began = time.monotonic()
        while not (name := self.owner(account)) or name == but or (by and name != by):
            assert time.monotonic() - began < seconds, f"{account}: owned by {name!r}\n{self.log()}"
            await asyncio.sleep(0.05)
        return time.monotonic() - began

    def watch_writes(self) -> None:
        """Record writes by replicas that do not own what they write about, from now on."""
        self.rows(WATCH)

    def late_writes(self) -> list[tuple[object, ...]]:
        """The recorded writes."""
        return self.rows("SELECT * FROM late_writes")

    def open_turns(self) -> int:
        return int(str(self.rows(OPEN)[0][0]))

    def stuck(self) -> list[tuple[object, ...]]:
        """The turns that are not closed, with their runs and who has them."""
        return self.rows(STUCK)

    def closed_texts(self) -> set[str]:
        """The messages whose turns are closed."""
        return {str(text) for (text,) in self.rows(CLOSED)}

    def refused(self) -> int:
        """How many writes were refused because another replica had taken over."""
        logs = (self.home / "replicas").glob("*/*.log*"), (self.home / "replicas").glob("*/logs/*.log*")
        texts = [path.read_text(errors="replace") for found in logs for path in found]
        return sum(text.count(REFUSED) + text.count(LOST) for text in texts)

    def log(self) -> str:
        """What the replicas printed."""
        return "\n\n".join(f"--- {name}\n{member.log()}" for name, member in self.members.items())

    def stop(self) -> None:
        """End all."""
        for name, member in self.members.items():
            self.resume(name)
            if member.process is not None and member.process.poll() is None:
                member.kill()


def configuration(url: str, channels: Sequence[str], extra: str = "") -> str:
    """The configuration of replicas with these entries of `channels`."""
    entries = "\n".join(f"  {entry}" for entry in channels)
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
database: {{url: "{url}"}}
logging: {{format: json}}
channels:
{entries}
access: {{default: allow}}
{extra}
"""


@asynccontextmanager
async def crowd_of(
    home: Path,
    url: str,
    channels: Sequence[str],
    names: Sequence[str] = ("a", "b"),
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Crowd]:
    """Replicas at work, with additions to their environment; the first one is started first."""
    crowd = Crowd(home, url, configuration(url, channels), dict(env or {}))
    try:
        for name in names:
            await crowd.add(name)
            if not crowd.rows("SELECT 1 FROM pg_class WHERE relname = 'late_writes'"):
                crowd.watch_writes()
        yield crowd
    finally:
        crowd.stop()
