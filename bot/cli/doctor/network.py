"""Network checks: platform accounts, clock, database and a remote agent runtime."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from bot.app.accounts import load_factory, load_manifest
from bot.cli.common import run_loop
from bot.cli.connect_probe import probe, quiet
from bot.cli.doctor.finding import Finding
from bot.config import AccountConfig, Config
from bot.config.accounts import BUILT_IN
from bot.errors import RoebotError

ROOTS = {
    "telegram": "https://api.telegram.org",
    "slack": "https://slack.com/api/",
    "feishu": "https://open.feishu.cn",
    "discord": "https://discord.com/api/v10",
}
ASK_SECONDS = 5.0
CONNECTED = frozenset({"polling", "socket"})
"""The modes in which trying an account changes nothing on its platform's side."""
# Slack and Feishu reject requests that are off by more than five minutes, in either direction.
ASKEW, WRONG = 30.0, 120.0


def accounts(config: Config) -> Iterator[Finding]:
    """Check that each platform accepts its account, where that is possible without a service."""
    there: list[AccountConfig] = []
    for account in config.accounts:
        try:
            load_factory(load_manifest(account.platform))
        except RoebotError as error:
            yield Finding(False, f"account {account.name}: {error}")
        else:
            there.append(account)
    asked = [one for one in there if _can_be_asked(one)]
    for account in there:
        if account not in asked:
            yield Finding(True, f"account {account.name} ({account.platform}) can be started")
    if asked:
        with quiet():
            found = run_loop(_all(asked))
        yield from found


def _can_be_asked(account: AccountConfig) -> bool:
    return account.platform not in BUILT_IN and getattr(account, "mode", "socket") in CONNECTED


async def _all(asked: Sequence[AccountConfig]) -> Sequence[Finding]:
    return await asyncio.gather(*(_tried(account) for account in asked))


async def _tried(account: AccountConfig) -> Finding:
    named = f"account {account.name} ({account.platform})"
    try:
        state = await probe(account)
    except RoebotError as error:
        return Finding(False, f"{named}: {error}")
    text = f"{named} is accepted as {state.identity or account.name}"
    return lives(text, state.reason)


def lives(text: str, reason: str) -> Finding:
    """Describe a live account: its heartbeat time, or the reason it fails."""
    told = f"{text}: {reason}" if reason else text
    return Finding(None if reason and not reason.startswith("heartbeat") else True, told)


def clock(config: Config, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Compare this machine's clock with that of the first platform that answers."""
    for account in config.accounts:
        root = account.base_url or ROOTS.get(account.platform)
        if root is None:
            continue
        with suppress(httpx.HTTPError, ValueError, TypeError, KeyError):
            answer = httpx.head(root, timeout=ASK_SECONDS)
            there = parsedate_to_datetime(answer.headers["date"]).timestamp()
            yield _apart(now() - there, httpx.URL(root).host)
            return


def _apart(seconds: float, host: str) -> Finding:
    if abs(seconds) < ASKEW:
        return Finding(True, f"clock: within {ASKEW:.0f} s of that of {host}")
    how = "ahead of" if seconds > 0 else "behind"
    return Finding(
        False if abs(seconds) > WRONG else None,
        f"clock: {abs(seconds):.0f} s {how} that of {host}; set it (`timedatectl set-ntp true`): "
        "platforms refuse what seems old, and schedules fire at the wrong time",
    )


def runtime(config: Config) -> Iterator[Finding]:
    """Check that a remote agent runtime answers."""
    url = config.runtime.url
    if url is None:
        return
    try:
        answer = httpx.get(f"{url.rstrip('/')}/ok", timeout=ASK_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        yield Finding(False, f"agent runtime at {url}: {why}; start it there, or correct runtime.url")
    else:
        good = answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR
        yield Finding(good, f"agent runtime at {url} answers" + ("" if good else f" {answer.status_code}"))


def database(config: Config, home: Path) -> Iterator[Finding]:
    """Check that the bot's database is reachable and has a known schema version."""
    url = config.database.url.get_secret_value() if config.database.url else ""
    if not url and not (home / "bot.db").exists():
        return
    from bot.cli.doctor.database import look

    yield look(url, home)
