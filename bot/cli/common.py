"""Helpers shared by commands: data directory, configuration, event loop and prompts."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
import time
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent.config.errors import ConfigErrors, UnsetVariable, one_error
from agent.shared.install_hints import START
from bot.app.home import find_home, find_service
from bot.app.service_token import find_service_token
from bot.config import LoadedConfig, load_config
from bot.config.changes import Change, ConfigDraft
from bot.config.loader import load_server
from bot.config.models import ServerConfig
from bot.config.versions import ConfigChanged, ConfigFile
from bot.errors import StartError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
ENDED = "input ended before all questions were answered; nothing was written"
DIFFERENT_START = (
    "the service was started with another token. "
    "Run this command with the same configuration and ROEBOT_TOKEN."
)
UNAUTHORIZED = 401


def home_folder(explicit: Path | None) -> Path:
    """Return the data directory, as set by the option, the environment or the working directory."""
    return find_home(explicit, os.environ, Path.cwd())


def configuration(explicit: Path | None, home: Path | None = None) -> LoadedConfig:
    """Load and check the configuration, and the custom agents in `home` if it is set. Raises ConfigErrors."""
    return load_config(explicit, os.environ, Path.cwd(), home)


def check_draft(file: ConfigFile, draft: ConfigDraft) -> LoadedConfig | None:
    """Check a draft. Return None if its only errors are unset variables. Raises ConfigErrors."""
    try:
        return file.check(draft)
    except ConfigErrors as errors:
        if not all(isinstance(error, UnsetVariable) for error in errors.errors):
            raise
    return None


def save_changes(file: ConfigFile, changes: Iterable[Change], draft: ConfigDraft) -> None:
    """Apply changes to a draft, check it and save it. Raises ConfigErrors before anything is written."""
    for change in changes:
        change.apply(draft)
    check_draft(file, draft)
    try:
        file.save(draft, draft.version, time.time())
    except ConfigChanged:
        raise one_error(str(file.path), "has changed in the meantime; run the command again") from None


def server_config(explicit: Path | None, home: Path) -> ServerConfig:
    """Load the `server` section of a file, by default the running service's.

    Raises ConfigErrors.
    """
    running = find_service(home)
    if explicit is None and running is not None and running.config:
        explicit = Path(running.config)
    return load_server(explicit, os.environ, Path.cwd(), home)


def shared_options(home: Path | None, file: Path | None) -> list[str]:
    """Return the options of a command for the same data directory and file."""
    return [*(["--home", str(home)] if home else []), *(["--config", str(file)] if file else [])]


def shell_command(*words: str, home: Path | None, file: Path | None) -> str:
    """Return the shell command that runs a subcommand for the same data directory and file."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "roebot" else "roebot"
    return " ".join([program, *words, *shared_options(home, file)])


def service_token(explicit: Path | None, home: Path) -> str | None:
    """Return the token that clients must send to a data directory's service; None if there is none yet.

    Raises ConfigErrors and StartError.
    """
    return find_service_token(server_config(explicit, home), os.environ, home)


def bearer_headers(token: str | None) -> dict[str, str]:
    """Return the headers that send the token to the service."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def no_service(home: Path) -> StartError:
    """Return the error for a command that needs a running service."""
    return StartError(
        f"no service is running with the data directory {home}. Start it with `{START}`, "
        "or choose another data directory with --home."
    )


def error_detail(answer: httpx.Response, unauthorized: str = DIFFERENT_START) -> str:
    """Return why the service refused a request, and what to do about an invalid token (`unauthorized`)."""
    if answer.status_code == UNAUTHORIZED and unauthorized:
        return unauthorized
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the service responded with status {answer.status_code}"


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, using uvloop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


def ask(text: str, default: str | None = None, *, ended: str | None = None, complaint: str = ENDED) -> str:
    """Read a line. Return `default` if it is empty, and `ended` (or else `default`) at the end of input.

    Raises StartError with the `complaint` at the end of input if both are None.
    """
    last = ended if ended is not None else default
    while True:
        try:
            answer = input(text).strip()
        except EOFError:
            print()
            if last is None:
                raise StartError(complaint) from None
            return last
        if not sys.stdin.isatty():
            print()
        if answer or default is not None:
            return answer or str(default)


def ask_secret(text: str, *, complaint: str = ENDED) -> str:
    """Read a line like `ask`, but don't echo it."""
    if not sys.stdin.isatty():
        return ask(text, complaint=complaint)
    while not (answer := getpass.getpass(text).strip()):
        pass
    return answer


def confirm(text: str, *, default: bool, again: str = "Enter y or n") -> bool:
    """Ask a yes/no question; after any other answer, print `again` and repeat. End of input means no."""
    choice = f"[{'Y/n' if default else 'y/N'}]: "
    answer = ask(f"{text} {choice}", "y" if default else "n", ended="n").lower()
    while answer not in {"y", "yes", "n", "no"}:
        answer = ask(f"{again} {choice}", "y" if default else "n", ended="n").lower()
    return answer in {"y", "yes"}
