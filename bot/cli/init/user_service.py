"""Installation of the service as a user unit of systemd, which needs no root access."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.config.document import read_document
from agent.config.env import VARIABLE
from agent.config.errors import ConfigErrors
from agent.shared.atomic_file import replace_file
from bot.app.service_token import TOKEN_VARIABLE
from bot.cli.extensions_file import VARIABLE as EXTENSIONS_VARIABLE
from bot.cli.extensions_file import find_extensions, read_extensions

UNIT = "roebot.service"
CONTROL = ("systemctl", "--user")
CONTROL_SECONDS = 60.0
KEPT_VARIABLES = (
    *("PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *(TOKEN_VARIABLE, EXTENSIONS_VARIABLE),
)
"""Variables of this environment that are passed on to the service, if they are set."""
_UNIT = """\
[Unit]
Description=Roebot
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart={command}
WorkingDirectory={folder}
EnvironmentFile={environment}
Environment=PYTHONUNBUFFERED=1
UMask=0077

Restart=always
RestartSec=5
# 2: the configuration is invalid; restarting does not help.
RestartPreventExitStatus=2
KillMode=mixed
TimeoutStopSec=20

[Install]
WantedBy=default.target
"""


class ServiceNotInstalled(Exception):
    """The service could not be installed, and its files were removed. The message contains the reason."""


@dataclass(frozen=True, slots=True)
class UserService:
    """A unit that runs the service with this configuration and data directory.

    `variables` are those that it gets from the current environment.
    """

    config: Path
    home: Path
    variables: Mapping[str, str]
    folder: Path

    @property
    def unit(self) -> Path:
        """The unit's file."""
        return self.folder / "systemd" / "user" / UNIT

    @property
    def environment(self) -> Path:
        """The file with the variables, accessible only by its owner."""
        return self.folder / "roebot" / "environment"

    @property
    def undo(self) -> str:
        """The shell command that stops and removes the service."""
        return f"systemctl --user disable --now roebot && rm {_shell(self.unit)} {_shell(self.environment)}"

    def is_offered(self) -> bool:
        """Return whether systemd can run the service and no unit conflicts. Blocking."""
        if shutil.which(CONTROL[0]) is None or self.unit.exists() or self.environment.exists():
            return False
        return _control("show-environment") is None

    def install(self) -> None:
        """Write the files, then enable and start the service. Blocking. Raises ServiceNotInstalled."""
        try:
            for path, text in ((self.environment, self._environment_text()), (self.unit, self._unit_text())):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_file(path, text)
        except OSError as error:
            self._remove()
            raise ServiceNotInstalled(f"{error.filename}: {error.strerror}") from None
        for words in (["daemon-reload"], ["enable", "--now", UNIT]):
            if problem := _control(*words):
                _control("disable", UNIT)
                self._remove()
                raise ServiceNotInstalled(problem)

    def _remove(self) -> None:
        for path in (self.unit, self.environment):
            with suppress(OSError):
                path.unlink()

    def _environment_text(self) -> str:
        return "".join(f"{name}={_quoted(value)}\n" for name, value in sorted(self.variables.items()))

    def _unit_text(self) -> str:
        options = ["run", "--home", str(self.home), "--config", str(self.config)]
        command = [sys.executable, "-P", "-m", "bot.cli", *options]
        return _UNIT.format(
            command=" ".join(_quoted(word).replace("%", "%%").replace("$", "$$") for word in command),
            folder=str(self.config.parent).replace("%", "%%"),
            environment=str(self.environment).replace("%", "%%"),
        )


def user_service(
    config: Path, home: Path, environ: Mapping[str, str], more: Sequence[str] = ()
) -> UserService:
    """Describe the service, whose environment contains the variables in its configuration files, and
    `more`.
    """
    config, home = config.resolve(), home.resolve()
    if path := environ.get(EXTENSIONS_VARIABLE, "").strip():
        # The service runs in the folder of its configuration.
        environ = {**environ, EXTENSIONS_VARIABLE: str(Path(path).expanduser().absolute())}
    named = {*_variables_of(config, home, environ), *more, *KEPT_VARIABLES}
    variables = {name: environ[name] for name in named if environ.get(name)}
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".config")
    return UserService(config, home, variables, Path(base))


def _variables_of(config: Path, home: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the variables in the configuration and the extensions, skipping invalid files."""
    waiting: list[Any] = []
    with suppress(ConfigErrors):
        waiting.append(read_document(config).data)
    with suppress(ConfigErrors):
        path = find_extensions(environ, config.parent, home)
        waiting.append(read_extensions(path) if path else {})
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and (found := VARIABLE.fullmatch(value)):
            yield found[1]


def _control(*words: str) -> str | None:
    """Run systemctl. Return the reason for a failure, or None on success."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            [*CONTROL, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CONTROL_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"systemctl: {error}"
    if done.returncode == 0:
        return None
    return done.stderr.strip() or f"systemctl exited with code {done.returncode}"


def _quoted(value: str) -> str:
    """Quote a word of a unit or a value of an environment file (systemd.syntax(7), systemd.exec(5))."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shell(path: Path) -> str:
    return shlex.quote(str(path))
