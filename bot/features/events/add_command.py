"""Implementation of `roebot events add`."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from agent.config.reader import find_config
from bot.app.home import RunningService, find_service
from bot.cli.common import ask_secret, home_folder, save_changes, shell_command
from bot.config.changes import AddEventSource
from bot.config.events import ISSUING, NAME, Kind
from bot.config.versions import ConfigFile
from bot.errors import StartError
from bot.features.events.source_commands import SOURCES, read_api

RELOAD_SECONDS: Final = 10.0
DEFAULT_URL: Final = "http://127.0.0.1:2026"
GUIDE: Final = "docs/howto/connect-event-sources.md"


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source to add, and the place of its incidents. `topic` is "" for none."""

    kind: str
    name: str
    account: str
    chat: str
    topic: str = ""
    is_private: bool = False

    def make_change(self, secret: str) -> AddEventSource:
        """Return the change that adds it."""
        place = {"account": self.account, "chat": self.chat, "topic": self.topic, "private": self.is_private}
        return AddEventSource.model_validate(
            {"name": self.name, "type": self.kind, "secret": secret, **place}
        )


def add_command(new: NewSource, home: Path | None, file: Path | None) -> int:
    """Add a source and its route to the configuration, and return the exit code.

    Raises ConfigErrors and StartError before anything is written.
    """
    folder = home_folder(home)
    service = find_service(folder)
    path = _find_file(file, folder, service)
    config = ConfigFile(path, folder, os.environ)
    draft = config.make_draft()
    _check(new, draft.data)
    secret = _find_secret(new)
    save_changes(config, [new.make_change(secret)], draft)
    print(f"Added the event source {new.name} and its route to {path}.")
    if service is None:
        print("No service is running with this data directory; start one to receive events.")
    elif not _is_loaded(new.name, service, folder):
        print("The running service has not applied the change; run `roebot doctor` to find the reason.")
    print(f"\n  Address  {service.url if service else DEFAULT_URL}/events/{new.name}")
    if new.kind not in ISSUING:
        print(f"  Secret   {secret}")
    check = shell_command("events", "test", new.name, home=home, file=file)
    print(f"\nTo send a test event: {check}")
    print(f"To set up the other system, see {GUIDE}.")
    return 0


def _check(new: NewSource, config: Mapping[str, Any]) -> None:
    """Check that a source can be added to a configuration. Raises StartError."""
    if new.kind not in get_args(Kind):
        raise StartError(f"unknown type {new.kind}; expected one of {', '.join(get_args(Kind))}")
    if not NAME.fullmatch(new.name):
        raise StartError(f"the name {new.name} is invalid; expected lowercase letters, digits, - and _")
    accounts = [*(config.get("channels") or ())]
    if new.account not in accounts:
        raise StartError(f"there is no account {new.account}; known: {', '.join(accounts) or 'none'}")
    for number, route in enumerate((config.get("events") or {}).get("routes") or ()):
        if isinstance(route, Mapping) and not route.get("source"):
            where = f"events.routes[{number}]"
            raise StartError(f"{where} takes the events of all sources; set its `source`, then try again")


def _find_file(file: Path | None, folder: Path, service: RunningService | None) -> Path:
    running = Path(service.config) if service and service.config else None
    found = file or running or find_config(None, os.environ, Path.cwd(), folder)
    if found is None:
        raise StartError("there is no configuration file; create one with `roebot init`")
    return found


def _find_secret(new: NewSource) -> str:
    if new.kind not in ISSUING:
        return secrets.token_urlsafe(24)
    return ask_secret(f"Secret shown by {new.kind}: ", complaint="no secret was entered; nothing was written")


def _is_loaded(name: str, service: RunningService, folder: Path) -> bool:
    """Return whether the running service knows a source, after waiting until it does."""
    until = time.monotonic() + RELOAD_SECONDS
    while time.monotonic() < until:
        if any(one["name"] == name for one in read_api(service, folder, None, "GET", SOURCES)["sources"]):
            return True
        time.sleep(0.2)
    return False
