"""Checks over the network: platform accounts, clock, database and a remote agent runtime."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import NullPool

from agent.shared.install_hints import install_command, own_extra
from agent.shared.postgres_url import sqlalchemy_url
from bot.app.accounts import load_factory, load_manifest
from bot.app.copied_data import find_copy_problem
from bot.cli.common import run_loop
from bot.cli.connect_probe import probe, silence_logs
from bot.cli.doctor import Finding
from bot.config import AccountConfig, Config
from bot.domain import LOCAL_PLATFORMS
from bot.errors import RoebotError
from bot.store.schema_version import HEAD, current, is_too_new

ASK_SECONDS = 5.0
CONNECT_SECONDS = 5
# Platforms reject requests that are off by more than five minutes, in either direction.
ASKEW, WRONG = 30.0, 120.0


def accounts(config: Config) -> Iterator[Finding]:
    """Check each account's credentials with its platform, where possible without a running service."""
    there: list[AccountConfig] = []
    for account in config.accounts:
        try:
            load_factory(load_manifest(account.platform))
        except RoebotError as error:
            yield Finding(False, f"account {account.name}: {error}")
        else:
            there.append(account)
    asked = [one for one in there if _can_probe(one)]
    for account in there:
        if account not in asked:
            yield Finding(True, f"account {account.name} ({account.platform}) can be loaded")
    if asked:
        with silence_logs():
            found = run_loop(_probe_all(asked))
        yield from found


def _can_probe(account: AccountConfig) -> bool:
    return account.platform not in LOCAL_PLATFORMS and not account.is_called


async def _probe_all(asked: Sequence[AccountConfig]) -> Sequence[Finding]:
    return await asyncio.gather(*(_probe_account(account) for account in asked))


async def _probe_account(account: AccountConfig) -> Finding:
    named = f"account {account.name} ({account.platform})"
    try:
        state = await probe(account)
    except RoebotError as error:
        return Finding(False, f"{named}: {error}")
    text = f"{named} connects as {state.identity or account.name}"
    return describe_live(text, state.reason)


def describe_live(text: str, reason: str) -> Finding:
    """Describe a live account: the time of its heartbeat, or the reason for its failure."""
    line = f"{text}: {reason}" if reason else text
    return Finding(None if reason and not reason.startswith("heartbeat") else True, line)


def clock(config: Config, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Compare this machine's clock with the clock of the first platform that responds."""
    for account in config.accounts:
        root = account.base_url or _api_root(account.platform)
        if not root:
            continue
        with suppress(httpx.HTTPError, ValueError, TypeError, KeyError):
            answer = httpx.head(root, timeout=ASK_SECONDS)
            there = parsedate_to_datetime(answer.headers["date"]).timestamp()
            yield _clock_finding(now() - there, httpx.URL(root).host)
            return


def _api_root(platform: str) -> str:
    with suppress(RoebotError):
        return load_manifest(platform).api_root
    return ""


def _clock_finding(seconds: float, host: str) -> Finding:
    if abs(seconds) < ASKEW:
        return Finding(True, f"clock: within {ASKEW:.0f} s of {host}")
    how = "ahead of" if seconds > 0 else "behind"
    return Finding(
        False if abs(seconds) > WRONG else None,
        f"clock: {abs(seconds):.0f} s {how} {host}; correct it (`timedatectl set-ntp true`), because "
        "platforms reject requests with an old timestamp and schedules run at the wrong time",
    )


def runtime(config: Config) -> Iterator[Finding]:
    """Check that a remote agent runtime responds."""
    url = config.runtime.url
    if url is None:
        return
    try:
        answer = httpx.get(f"{url.rstrip('/')}/ok", timeout=ASK_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        yield Finding(False, f"agent runtime at {url}: {why}; start it, or correct runtime.url")
    else:
        good = answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR
        status = "" if good else f" with status {answer.status_code}"
        yield Finding(good, f"agent runtime at {url} responds{status}")


def database(config: Config, home: Path) -> Iterator[Finding]:
    """Check that the bot's database is reachable and has a known schema version."""
    url = config.database.url.get_secret_value() if config.database.url else ""
    if not url and not (home / "bot.db").exists():
        return
    found = check_database(url, home)
    yield found
    if not found.good:
        return
    with suppress(DatabaseError), open_engine(url, home).connect() as connection:
        if problem := find_copy_problem(connection, config, home):
            yield Finding(False, f"database: {problem}")


def check_database(url: str, home: Path) -> Finding:
    """Check the database at `url`, or the one in the data directory."""
    place = f"database at {urlsplit(url).hostname}" if url else f"database {home / 'bot.db'}"
    try:
        with open_engine(url, home).connect() as connection:
            found = current(connection)
            is_refused = is_too_new(connection, found)
    except ModuleNotFoundError as error:
        command = install_command(own_extra("postgres"))
        return Finding(False, f"{place} needs the package {error.name}; install it: {command}")
    except ArgumentError:
        return Finding(
            False,
            f"{place}: database.url is not a valid address; expected postgresql://user:password@host/name",
        )
    except DatabaseError as error:
        why = " ".join(str(error.orig or type(error).__name__).split())
        return Finding(
            False, f"{place} cannot be read: {why}; check that it is running and that database.url is correct"
        )
    if is_refused:
        return Finding(
            False,
            f"{place} was created by a newer version of Roebot (schema {found}; this one supports {HEAD}); "
            "install that version, or restore an older backup",
        )
    behind = f"; the next start upgrades it from schema {found} to {HEAD}" if "" < found < HEAD else ""
    return Finding(True, f"{place} can be read{behind}")


def open_engine(url: str, home: Path) -> Engine:
    """Return a read-only engine for the database at `url`, or for the one in the data directory."""
    return _remote(url) if url else _local(home / "bot.db")


def _remote(url: str) -> Engine:
    limits = {"connect_timeout": CONNECT_SECONDS}
    return create_engine(sqlalchemy_url(url), poolclass=NullPool, connect_args=limits)


def _local(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)
