"""`roebot init`: set up a working account. Answers are collected and tested before anything is written."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from agent.config.errors import ConfigErrors, UnsetVariable, one_error
from agent.config.reader import find_config
from bot.app.accounts import load_manifest
from bot.app.home import RunningService, find_service
from bot.cli.common import ask, ask_secret, confirm, home_folder, run_loop
from bot.cli.connect_probe import probe, silence_logs
from bot.cli.init.questions import ModelChoice, OwnerAnswer, choose_model, find_owner
from bot.cli.manifest import app_manifest, number_lines, steps_heading
from bot.config import AccountConfig, LoadedConfig
from bot.config.accounts import ACCOUNT_NAME, BUILT_IN, PLATFORMS
from bot.config.add import MODE, escaped, new_account, save, with_account, with_model, with_owner
from bot.config.loader import load_file
from bot.errors import StartError

STOPPED = "stopped; nothing was written"


@dataclass(frozen=True, slots=True)
class InitArguments:
    """Arguments of `roebot init`. `path` is the file to write; `home` is None for the default."""

    platform: str
    name: str
    path: Path
    base_url: str
    file: Path | None
    home: Path | None


@dataclass(frozen=True, slots=True)
class InitAnswers:
    """Answers to write; values in `settings` are written to the file unchanged."""

    settings: Mapping[str, str]
    owner: OwnerAnswer
    model: ModelChoice | None


def init_command(platform: str, name: str, file: Path | None, base_url: str, home: Path | None) -> None:
    """Ask for the settings, test and write them, and print the next steps.

    Raises StartError or ConfigErrors before anything is written.
    """
    try:
        asked = _validate_arguments(platform, name, file, base_url, home)
        with silence_logs():
            answers = _collect_answers(asked)
        summary = _write(asked, answers)
    except KeyboardInterrupt:
        print()
        raise StartError(STOPPED) from None
    print(summary)
    _print_next_steps(asked, answers)


def _validate_arguments(
    platform: str, name: str, file: Path | None, base_url: str, home: Path | None
) -> InitArguments:
    """Validate the arguments before any token is entered."""
    path = _path(file)
    _load_draft(_text(path), path)
    platform = platform or ask(f"Platform ({_names()}): ").lower()
    if platform not in PLATFORMS or platform in BUILT_IN:
        raise StartError(f"{platform} cannot be set up; choose one of {_names()}")
    name = name or platform
    if not ACCOUNT_NAME.fullmatch(name):
        raise StartError(
            f"{name} is not a valid name; use lowercase letters, digits, - and _, starting with a letter"
        )
    new_account(_text(path), str(path), name)
    return InitArguments(platform, name, path, base_url, file, home)


def _path(file: Path | None) -> Path:
    """Return the file to write. Raises ConfigErrors if it can't be written."""
    path = file if file is not None and not file.exists() else find_config(file, os.environ, Path.cwd())
    path = path or Path("config.yaml")
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise one_error(str(path), f"cannot be written: {folder} is not a writable directory")
    return path


def _collect_answers(asked: InitArguments) -> InitAnswers:
    manifest = load_manifest(asked.platform)
    print(f"\n{steps_heading(manifest)}\n")
    print("\n".join(number_lines(manifest.setup_steps)))
    if extra := app_manifest(asked.platform):
        print(f"\n{extra}")
    while (found := _try_account(asked)) is None:
        pass
    settings, account, identity = found
    print(f"The bot is {identity}.")
    text = with_account(_text(asked.path), str(asked.path), asked.name, settings)
    loaded = _load_draft(text, asked.path)
    owner = find_owner(account, identity, manifest)
    ours = loaded is not None and not loaded.config.models and loaded.config.runtime.url is None
    return InitAnswers(settings, owner, choose_model() if ours else None)


def _try_account(asked: InitArguments) -> tuple[dict[str, str], AccountConfig, str] | None:
    """Return the accepted settings, the account and the bot's identity, or None to ask again."""
    settings = {} if asked.name == asked.platform else {"platform": asked.platform}
    settings |= {"base_url": asked.base_url} if asked.base_url else {}
    settings |= _values(asked, settings)
    account = _account(asked, _resolved(settings))
    _load_draft(with_account(_text(asked.path), str(asked.path), asked.name, settings), asked.path)
    print("\nConnecting to the platform…", flush=True)
    try:
        return settings, account, run_loop(probe(account)).identity or asked.name
    except StartError as problem:
        if confirm(f"\n{problem}.\nTry again?", default=True):
            return None
        raise StartError(f"{problem}; nothing was written. Fix the problem and start over") from None


def _names() -> str:
    return ", ".join(sorted(platform for platform in PLATFORMS if platform not in BUILT_IN))


def _values(asked: InitArguments, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the account's keys, each as `$NAME` if that variable is set, or else as the typed value."""
    print()
    platform = PLATFORMS[asked.platform]
    values: dict[str, str] = {}
    for key, question in platform.asked_too.items():
        default = str(platform.model_fields[key].default)
        answer = ask(f"{question} [{default}]: ", default).lower()
        values |= {key: answer} if answer != default else {}
    empty = _account(asked, {**settings, **values})
    for key in empty.needs():
        variable = f"{asked.name}_{key}".upper().replace("-", "_")
        if os.environ.get(variable):
            print(f"{key}: using ${variable}")
            values[key] = f"${variable}"
        else:
            about = (platform.model_fields[key].description or key).rstrip(".")
            secret = key in empty.secrets()
            values[key] = escaped((ask_secret if secret else ask)(f"{about}: "))
    return values


def _resolved(values: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value[1:]
        if value.startswith("$$")
        else os.environ.get(value[1:], value)
        if value.startswith("$")
        else value
        for key, value in values.items()
    }


def _account(asked: InitArguments, values: Mapping[str, str]) -> AccountConfig:
    named = {**values, "name": asked.name, "platform": asked.platform}
    try:
        return PLATFORMS[asked.platform].model_validate(named)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StartError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _load_draft(text: str, path: Path) -> LoadedConfig | None:
    """Load the text as a configuration file. Return None if its only errors are unset variables. Raises
    ConfigErrors.
    """
    with TemporaryDirectory(prefix="roebot-init-") as folder:
        draft = Path(folder) / path.name
        draft.touch(mode=MODE)
        draft.write_text(text, encoding="utf-8")
        try:
            return load_file(draft, os.environ, Path(folder))
        except ConfigErrors as errors:
            if not all(isinstance(error, UnsetVariable) for error in errors.errors):
                raise
    return None


def _write(asked: InitArguments, answers: InitAnswers) -> str:
    """Write everything at once and return the lines to print."""
    file = str(asked.path)
    text = with_account(_text(asked.path), file, asked.name, answers.settings)
    if answers.owner.person:
        text = with_owner(text, file, asked.name, asked.platform, answers.owner.person)
    model = answers.model
    if model is not None and model.entry:
        text = with_model(text, file, model.entry)
    _load_draft(text, asked.path)
    private = _holds_secret(asked, answers)
    save(asked.path, text, private=private)
    alone = " It contains a secret, so only you can read it." if private else ""
    lines = [f"\nAdded the account {asked.name} to {file}.{alone}"]
    if model is not None:
        lines.append(f"Model: {model.label}")
    return "\n".join(lines)


def _holds_secret(asked: InitArguments, answers: InitAnswers) -> bool:
    secrets = PLATFORMS[asked.platform].secrets()
    typed = any(key in secrets and not _is_name(value) for key, value in answers.settings.items())
    return typed or (answers.model is not None and answers.model.secret)


def _is_name(value: str) -> bool:
    return re.fullmatch(r"\$[A-Za-z0-9_]*", value) is not None


def _print_next_steps(asked: InitArguments, answers: InitAnswers) -> None:
    """Print the next steps, and start the service if requested."""
    found = find_service(home_folder(asked.home))
    steps = [f"Start the service: {_shell_command(asked, 'run')}"] if found is None else []
    manifest = load_manifest(asked.platform)
    if manifest.later_steps and not answers.owner.wrote:
        first = len(manifest.setup_steps) + 1
        last = first + len(manifest.later_steps) - 1
        steps.append(f"While it is running, complete steps {first} to {last} above on the platform.")
    steps.append(manifest.write_to_it)
    if not answers.owner.person:
        steps.append(
            "The bot replies with a code. Send `/pair CODE owner` in the web console or in "
            f"`{_shell_command(asked, 'chat')}` to become its owner."
        )
    steps.append(f"If something goes wrong, run: {_shell_command(asked, 'doctor')}")
    if found is not None:
        print(_describe_reload(found, asked.path))
    print("\nNext:\n")
    print("\n".join(number_lines(tuple(steps))), flush=True)
    if found is None and confirm("\nStart the service now?", default=True):
        os.execv(sys.executable, [sys.executable, "-m", "bot.cli", "run", *_options(asked)])  # noqa: S606


def _describe_reload(found: RunningService, path: Path) -> str:
    """Describe how a running service applies the change."""
    if found.config and Path(found.config) != path.resolve():
        return f"The service at {found.url} uses {found.config}. Stop it, then start it with this file."
    return f"The service at {found.url} applies the change within seconds."


def _shell_command(asked: InitArguments, command: str) -> str:
    """Return the shell command that runs a subcommand with this setup."""
    options = _options(asked)
    if command == "run" and not options and Path("Makefile").is_file():
        return "make run"
    program = sys.argv[0] if Path(sys.argv[0]).name == "roebot" else "roebot"
    return " ".join([program, command, *options])


def _options(asked: InitArguments) -> list[str]:
    home = ["--home", str(asked.home)] if asked.home else []
    return [*home, *(["--config", str(asked.file)] if asked.file else [])]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
