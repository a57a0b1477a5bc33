"""`roebot init`: from nothing to an account that works; the platform is asked before anything is written."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from agent.config.errors import ConfigErrors
from agent.config.reader import find_config
from bot.accounts import load_factory, load_manifest
from bot.cli.common import run_loop
from bot.cli.manifest import manifest_command
from bot.clock import SystemClock
from bot.config import AccountConfig
from bot.config.accounts import ACCOUNT_NAME, BUILT_IN, PLATFORMS
from bot.config.add import new_account, save, with_account, with_owner
from bot.config.loader import load_config
from bot.domain import AccountState, InboundEvent, Live
from bot.errors import AccountError, AccountLost, StartError
from bot.platforms.base import AdapterContext

PROBE_SECONDS = 30.0


def init_command(platform: str, name: str, file: Path | None, base_url: str) -> None:
    """Ask, check, write. Raises StartError or ConfigErrors; nothing is written before all of it is well."""
    platform = platform or _chosen()
    if platform not in PLATFORMS or platform in BUILT_IN:
        raise StartError(f"there is nothing to set up for {platform}; choose {_names()}")
    name = name or platform
    if not ACCOUNT_NAME.fullmatch(name):
        raise StartError(f"{name} cannot be a name; take small letters, digits, - and _, a letter first")
    path = find_config(file, os.environ, Path.cwd()) or file or Path("config.yaml")
    # Said before anything is asked for: tokens are not typed twice.
    new_account(_text(path), str(path), name)
    manifest_command(platform)
    settings = {} if name == platform else {"platform": platform}
    settings |= {"base_url": base_url} if base_url else {}
    values = _asked(platform, name, settings)
    account = _account(platform, name, {**settings, **_resolved(values)})
    print("\nAsking the platform …", flush=True)
    identity = run_loop(probe(account))
    print(f"It is {identity}.\n")
    owner = _owner(platform, account)
    print(_written(path, name, {**settings, **values}, owner))


async def probe(account: AccountConfig) -> str:
    """Start the account's adapter until the platform has accepted it: who it is there.

    Nothing that comes in meanwhile is taken: what is not stored is not confirmed. Raises StartError.
    """
    adapter = load_factory(load_manifest(account.platform))(account.name, account)
    live: asyncio.Future[AccountState] = asyncio.get_running_loop().create_future()

    def report(state: AccountState) -> None:
        if state.live is Live.LIVE and not live.done():
            live.set_result(state)

    running = asyncio.create_task(adapter.start(AdapterContext(_NoInbox(), report, SystemClock())))
    try:
        waiting: set[asyncio.Future[Any]] = {running, live}
        await asyncio.wait(waiting, timeout=PROBE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if live.done():
            return live.result().identity or account.name
        if running.done():
            running.result()
        raise StartError(f"{account.platform} did not answer within {PROBE_SECONDS:.0f} s")
    except AccountLost as problem:
        where = f" (it was asked at {account.base_url})" if account.base_url else ""
        raise StartError(f"{problem}{where}; look at the network and try again") from None
    except AccountError as problem:
        raise StartError(str(problem)) from None
    finally:
        live.cancel()
        await adapter.stop()
        await asyncio.gather(running, return_exceptions=True)


class _NoInbox:
    """Stores nothing, and so lets nothing be confirmed."""

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        found: Mapping[str, str] = await asyncio.get_running_loop().create_future()
        return found

    async def cursor(self) -> str:
        return ""

    async def migrate_chat(self, old: str, new: str) -> None:
        await asyncio.get_running_loop().create_future()


def _names() -> str:
    return ", ".join(sorted(platform for platform in PLATFORMS if platform not in BUILT_IN))


def _chosen() -> str:
    return str(typer.prompt(f"Which platform ({_names()})")).strip().lower()


def _asked(platform: str, name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The keys that the account needs: `$NAME` where the environment has one, else what is typed."""
    print()
    values: dict[str, str] = {}
    empty = PLATFORMS[platform].model_validate({"name": name, "platform": platform, **settings})
    for key, advice in empty.needs().items():
        variable = f"{name}_{key}".upper().replace("-", "_")
        if os.environ.get(variable):
            print(f"{key}: taken from ${variable}")
            values[key] = f"${variable}"
        else:
            # Nothing is echoed where no terminal is, and Python would warn that it cannot switch that off.
            secret = key in empty.secrets() and sys.stdin.isatty()
            values[key] = str(typer.prompt(f"{key} ({advice})", hide_input=secret)).strip()
    return values


def _resolved(values: Mapping[str, str]) -> dict[str, str]:
    return {key: os.environ[value[1:]] if value.startswith("$") else value for key, value in values.items()}


def _account(platform: str, name: str, values: Mapping[str, str]) -> AccountConfig:
    try:
        return PLATFORMS[platform].model_validate({"name": name, "platform": platform, **values})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StartError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _owner(platform: str, account: AccountConfig) -> str:
    text = f"Your own id there ({account.person_words}; empty: the bot tells you when you write to it)"
    while given := str(typer.prompt(text, default="", show_default=False)).strip():
        if re.fullmatch(account.person_pattern, given):
            return f"{platform}:{given}"
        print(f"That is not {account.person_words}. Leave it empty if you do not know it.")
    return ""


def _written(path: Path, name: str, settings: Mapping[str, str], owner: str) -> str:
    """Add the account to the file; what to say about it."""
    text = _text(path)
    new = with_account(text, str(path), name, {key: _escaped(value) for key, value in settings.items()})
    owned = with_owner(new, str(path), owner) if owner else new
    before = path.read_text(encoding="utf-8") if path.exists() else None
    save(path, owned or new)
    try:
        load_config(path, os.environ, Path.cwd())
    except ConfigErrors:
        if before is None:
            path.unlink()
        else:
            save(path, before)
        raise
    lines = [f"{path} has the account {name} now."]
    if owner and owned is None:
        lines.append(f"Add {owner} to access.owners there, so that the bot knows you.")
    lines.append("Start the service with `make run`; one that runs takes the account up by itself.")
    return "\n".join(lines)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _escaped(value: str) -> str:
    """A text that begins with a dollar sign and is not the name of a variable is written with two."""
    return f"${value}" if value.startswith("$") and value[1:] not in os.environ else value
