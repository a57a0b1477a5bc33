"""`roebot doctor`: what is there, what is missing, what to do about it."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx

from agent.config.errors import ConfigErrors, UnsetVariable
from bot.accounts import load_factory, load_manifest
from bot.cli import doctor_agent, doctor_models
from bot.cli.common import configuration, home_folder, service_token
from bot.cli.finding import Finding
from bot.config import Config, LoadedConfig
from bot.errors import HomeUnusable, RoebotError
from bot.home import prepare_home, running
from bot.store.database import DAMAGED

OLDEST_SQLITE = (3, 35, 0)  # RETURNING
DATABASES = ("bot.db", "agent.db", "checkpoints.db")
MARKS = {True: "ok  ", False: "FAIL", None: "note"}


def doctor_command(home: Path | None, file: Path | None) -> int:
    """Print every finding; 1 if any is bad."""
    bad = False
    for finding in look(home, file):
        print(f"{MARKS[finding.good]} {finding.text}", flush=True)
        bad = bad or finding.good is False
    return int(bad)


def look(home: Path | None, file: Path | None) -> Iterator[Finding]:
    """Everything that can be said without changing anything."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding(sys.version_info >= (3, 11), f"Python {version} (3.11 or newer is needed)")
    sqlite = tuple(map(int, sqlite3.sqlite_version.split(".")))
    yield Finding(sqlite >= OLDEST_SQLITE, f"SQLite {sqlite3.sqlite_version} (3.35 or newer is needed)")
    folder = home_folder(home)
    yield _home(folder)
    found = running(folder)
    followed = found.config if found else None
    if file is None and followed:
        file = Path(followed)
    try:
        loaded = configuration(file, folder)
    except ConfigErrors as errors:
        yield from _unusable(errors, folder, file)
        return
    yield Finding(True, f"configuration: {loaded.path or 'none, so everything has its default'}")
    if followed is not None and followed != (str(loaded.path.resolve()) if loaded.path else ""):
        yield Finding(None, f"the running service follows another configuration: {followed or 'no file'}")
    for warning in loaded.warnings:
        yield Finding(None, str(warning))
    yield from _accounts(loaded.config)
    if found is None:
        yield _port(loaded.config)
        yield Finding(None, "no service runs here; start it with `make run` to see live states")
        yield from _agent(loaded, folder)
    else:
        yield from _service(found.url, service_token(Path(followed) if followed else file))


def _agent(loaded: LoadedConfig, folder: Path) -> Iterator[Finding]:
    if loaded.config.runtime.url:
        yield Finding(None, "models: those of another agent runtime are asked while the service runs")
    else:
        yield from doctor_agent.findings(doctor_agent.here(loaded.path, folder))
        yield from doctor_models.here(loaded.path)


def _unusable(errors: ConfigErrors, folder: Path, file: Path | None) -> Iterator[Finding]:
    """A configuration that cannot be used here, and what runs all the same."""
    found = running(folder)
    if found is None or not all(isinstance(error, UnsetVariable) for error in errors.errors):
        yield Finding(False, f"configuration:\n{errors}")
        if found is not None:
            yield Finding(None, f"service at {found.url} goes on with the configuration that it read last")
    else:
        yield Finding(
            None, f"configuration: the service was started with more variables than are here:\n{errors}"
        )
    if found is not None:
        try:
            token = service_token(file)
        except ConfigErrors:
            return
        yield from _service(found.url, token)


def _home(folder: Path) -> Finding:
    if not folder.exists():
        parent = next(above for above in folder.parents if above.exists())
        if os.access(parent, os.W_OK | os.X_OK) and parent.is_dir():
            return Finding(True, f"home: {folder} (made at the first start)")
        return Finding(False, f"home: {folder} cannot be made in {parent}; choose another folder with --home")
    try:
        prepare_home(folder)
        for name in DATABASES:
            _readable(folder / name)
    except RoebotError as error:
        return Finding(False, f"home: {error}")
    return Finding(True, f"home: {folder}")


def _readable(path: Path) -> None:
    """Look at a database without changing it. Raises HomeUnusable."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        raise HomeUnusable(str(path), f"{error}. {DAMAGED}") from error


def _accounts(config: Config) -> Iterator[Finding]:
    for account in config.accounts:
        try:
            load_factory(load_manifest(account.platform))
        except RoebotError as error:
            yield Finding(False, f"account {account.name}: {error}")
        else:
            yield Finding(True, f"account {account.name} ({account.platform}) can be started")


def _port(config: Config) -> Finding:
    server = config.server
    with socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host, server.port))
        except OSError as error:
            who = _roebot_at(server.host, server.port)
            hint = who or "choose another one: server.port, or `roebot run --port 0`"
            return Finding(False, f"port {server.host}:{server.port}: {error.strerror}; {hint}")
    return Finding(True, f"port {server.host}:{server.port} is free")


def _roebot_at(host: str, port: int) -> str:
    """What to say where the port is taken by another Roebot, "" for anybody else."""
    try:
        answer = httpx.get(f"http://{host}:{port}/health", timeout=2.0, trust_env=False)
        if answer.is_success and answer.json().get("status") == "ok":
            return "a Roebot with another home answers there: name that one by --home or ROEBOT_HOME"
    except (httpx.HTTPError, ValueError, AttributeError):
        return ""
    return ""


def _service(url: str, token: str | None) -> Iterator[Finding]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=5.0, trust_env=False) as client:
            ready = client.get("/health/ready")
            listed = client.get("/api/channels")
            models = client.get("/api/models")
    except httpx.HTTPError as error:
        yield Finding(False, f"service at {url}: {type(error).__name__}")
        return
    if not listed.is_success:
        yield Finding(False, f"service at {url} refuses: {listed.text}")
        return
    channels = listed.json()["channels"]
    yield Finding(ready.is_success, f"service at {url}: {'ready' if ready.is_success else _unready(ready)}")
    for channel in channels:
        good = {"live": True, "connecting": None, "limited": None, "stopped": None}.get(
            channel["state"], False
        )
        reason = f": {channel['reason']}" if channel.get("reason") else ""
        yield Finding(good, f"account {channel['account']} is {channel['state']}{reason}")
    yield from doctor_agent.served(url, headers)
    yield from doctor_models.served(url, headers, models)


def _unready(answer: httpx.Response) -> str:
    """What of the service is not well, out of its own words."""
    try:
        parts = {name: part for name, part in answer.json().items() if isinstance(part, dict)}
    except (ValueError, AttributeError):
        return answer.text
    bad = [
        f"{name}: {part.get('detail')}"
        for name, part in parts.items()
        if name != "accounts" and not part["ok"]
    ]
    return "not ready" + (f"; {'; '.join(bad)}" if bad else "; see the accounts below")
