"""`roebot doctor`: check the installation and suggest fixes."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx

from agent.config.errors import ConfigErrors, UnsetVariable
from agent.shared.install_hints import START
from agent.shared.replica_folder import REPLICA_VARIABLE
from bot.app.home import RunningService, find_service
from bot.cli.additions import load_additions
from bot.cli.common import configuration, home_folder, service_token
from bot.cli.doctor import Finding, agent, label_findings, network, platforms, sharing
from bot.cli.doctor import home as doctor_home
from bot.cli.doctor.service import service
from bot.cli.doctor.translation import translate_finding
from bot.cli.init.prompts import find_locale
from bot.cli.security.command import doctor_findings, load_installation
from bot.config import Config, LoadedConfig
from bot.errors import StartError

OLDEST_SQLITE = (3, 35, 0)  # RETURNING
MARKS = {
    "en": {True: "ok  ", False: "FAIL", None: "note"},
    "zh": {True: "正常", False: "失败", None: "提示"},
}
STATES = {True: "ok", False: "bad", None: "note"}


def doctor_command(home: Path | None, file: Path | None, *, as_json: bool = False) -> int:
    """Print all findings, as lines in the terminal's language or as one JSON object.

    Return exit code 1 if any finding is bad.
    """
    found, language = [], find_locale(os.environ) or "en"
    for finding in run_checks(home, file):
        found.append(finding)
        if not as_json:
            print(MARKS[language][finding.good], translate_finding(finding.text, language), flush=True)
    bad = any(finding.good is False for finding in found)
    if as_json:
        listed = [
            {"state": STATES[finding.good], "check": finding.check, "text": finding.text} for finding in found
        ]
        print(json.dumps({"ok": not bad, "findings": listed}, indent=2, ensure_ascii=False))
    return int(bad)


def run_checks(home: Path | None, file: Path | None) -> Iterator[Finding]:
    """Run all checks without changing anything."""
    folder = home_folder(home)
    yield from label_findings("machine", _machine())
    yield from label_findings("home", doctor_home.usable(folder))
    yield from label_findings("room", [doctor_home.room(folder)])
    for additions in load_additions():
        for name, check in additions.checks.items():
            yield from label_findings(name, check(folder))
    found = find_service(folder)
    if found is None:
        yield from label_findings("home", doctor_home.held(folder))
    followed = found.config if found else None
    if file is None and followed:
        file = Path(followed)
    try:
        loaded = configuration(file, folder)
    except ConfigErrors as errors:
        yield from label_findings("configuration", _unusable(errors, folder, file))
        return
    yield from label_findings("configuration", _configured(loaded, followed))
    yield from label_findings("platform", platforms.plugins(loaded.config))
    yield from doctor_findings(load_installation(loaded, folder))
    yield from label_findings("database", network.database(loaded.config, folder))
    name = os.environ.get(REPLICA_VARIABLE, "")
    yield from label_findings("replica", sharing.replicas(loaded.config, folder, name))
    yield from label_findings("sign_on", sharing.sign_on(loaded.config))
    if found is None:
        yield from _without_service(loaded, folder)
    else:
        yield from _with_service(found, file, folder)
    yield from label_findings("clock", network.clock(loaded.config))


def _machine() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding(sys.version_info >= (3, 11), f"Python {version} (3.11 or newer is required)")
    sqlite = tuple(map(int, sqlite3.sqlite_version.split(".")))
    yield Finding(sqlite >= OLDEST_SQLITE, f"SQLite {sqlite3.sqlite_version} (3.35 or newer is required)")


def _configured(loaded: LoadedConfig, followed: str | None) -> Iterator[Finding]:
    """Report notable settings of a valid configuration."""
    yield Finding(True, f"configuration: {loaded.path or 'none (defaults)'}")
    if followed is not None and followed != (str(loaded.path.resolve()) if loaded.path else ""):
        yield Finding(None, f"the running service uses a different configuration: {followed or 'no file'}")
    for warning in loaded.warnings:
        yield Finding(None, str(warning))


def _without_service(loaded: LoadedConfig, folder: Path) -> Iterator[Finding]:
    yield from label_findings("account", network.accounts(loaded.config))
    yield from label_findings("port", [_port(loaded.config)])
    yield Finding(None, f"no service is running here; to see live states, start it with `{START}`", "service")
    if loaded.config.runtime.url:
        yield from label_findings("runtime", network.runtime(loaded.config))
        text = "models: an external agent runtime's models can only be tested while the service is running"
        yield Finding(None, text, "model")
    else:
        yield from label_findings(
            "configuration", agent.to_findings(agent.find_problems(loaded.path, folder))
        )
        yield from label_findings("model", agent.check_local_models(loaded.path))


def _with_service(found: RunningService, file: Path | None, folder: Path) -> Iterator[Finding]:
    try:
        token = service_token(Path(found.config) if found.config else file, folder)
    except StartError as problem:
        yield Finding(False, str(problem), "service")
        return
    yield from service(found.url, token)


def _unusable(errors: ConfigErrors, folder: Path, file: Path | None) -> Iterator[Finding]:
    """Report an unusable configuration, and run the checks that do not depend on it."""
    found = find_service(folder)
    if found is None or not all(isinstance(error, UnsetVariable) for error in errors.errors):
        yield Finding(False, f"configuration:\n{errors}")
        if found is not None:
            yield Finding(None, f"service at {found.url} still uses its last valid configuration")
    else:
        yield Finding(
            None,
            "configuration: the service was started with environment variables that are not set here:\n"
            f"{errors}",
        )
    if found is not None:
        with suppress(ConfigErrors):
            yield from _with_service(found, file, folder)


def _port(config: Config) -> Finding:
    server = config.server
    with socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((server.host, server.port))
        except OSError as error:
            who = _identify_roebot(server.host, server.port)
            hint = who or "choose another port: set server.port, or use `roebot run --port 0`"
            return Finding(False, f"port {server.host}:{server.port}: {error.strerror}; {hint}")
    return Finding(True, f"port {server.host}:{server.port} is free")


def _identify_roebot(host: str, port: int) -> str:
    """Describe the Roebot service that uses the port, or return "" if another program uses it."""
    try:
        answer = httpx.get(f"http://{host}:{port}/health", timeout=2.0, trust_env=False)
        if answer.is_success and answer.json().get("status") == "ok":
            return (
                "a Roebot with a different data directory uses this port; to use that directory, set --home "
                "or ROEBOT_HOME"
            )
    except (httpx.HTTPError, ValueError, AttributeError):
        return ""
    return ""
