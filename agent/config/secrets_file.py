"""Secrets in `secrets.env`, beside the configuration file that refers to them as `$NAME`.

Lines are `NAME=value` in the syntax of a shell, so that other programs can read the file too. Values are
added under new names and never replaced: an older version of the configuration still finds its own. A
variable of the environment takes precedence.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path

from agent.config.env import VARIABLE
from agent.config.errors import one_error
from agent.shared.atomic_file import PRIVATE_MODE, replace_file

FILE_NAME = "secrets.env"
_HEADER = "# Secrets of config.yaml, written by Roebot. Never share this file.\n"


def secrets_path(config: Path) -> Path:
    """Return the path of the secrets of a configuration file, whose folder may be behind a link."""
    return config.resolve().parent / FILE_NAME


def read_secrets(config: Path) -> dict[str, str]:
    """Return the secrets of a configuration file by name. Blocking. Raises ConfigErrors."""
    path = secrets_path(config)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise one_error(path.name, f"cannot be read: {reason}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = [""]
        if not words:
            continue
        name, equals, value = words[-1].partition("=")
        if words[:-1] not in ([], ["export"]) or not equals or not VARIABLE.fullmatch(f"${name}"):
            raise one_error(path.name, "expected NAME=value; quote a value with spaces", line=number)
        found[name] = value
    return found


def add_secrets(config: Path, values: Mapping[str, str]) -> None:
    """Add secrets, in one atomic write. Blocking. Raises ConfigErrors, and ValueError for several lines."""
    known = read_secrets(config)
    if any(known.get(name) != value for name, value in values.items()):
        _write_secrets(config, {**known, **values})


def keep_secrets(config: Path, names: Collection[str]) -> None:
    """Remove all other secrets. Blocking. Raises ConfigErrors."""
    known = read_secrets(config)
    wanted = {name: value for name, value in known.items() if name in names}
    if wanted != known:
        _write_secrets(config, wanted)


def _write_secrets(config: Path, values: Mapping[str, str]) -> None:
    if any(sign in value for value in values.values() for sign in "\r\n\0"):
        raise ValueError("expected a secret of one line")
    lines = (f"{name}={shlex.quote(value)}\n" for name, value in sorted(values.items()))
    try:
        replace_file(secrets_path(config), _HEADER + "".join(lines), mode=PRIVATE_MODE)
    except OSError as error:
        raise one_error(FILE_NAME, f"cannot be written: {error.strerror or error}") from error
