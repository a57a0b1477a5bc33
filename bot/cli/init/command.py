"""`roebot init`: set up a working account. Answers are collected and tested before anything is written."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.config.errors import one_error
from agent.config.reader import find_config
from bot.app.accounts import load_manifest
from bot.app.home import RunningService, find_service
from bot.cli.common import home_folder, load_draft, run_loop, shared_options, shell_command
from bot.cli.connect_probe import probe, silence_logs
from bot.cli.init.platform_setup import PlatformSetup
from bot.cli.init.prompts import Prompts
from bot.cli.init.questions import ModelChoice, OwnerAnswer, choose_model, find_owner
from bot.cli.init.user_service import ServiceNotInstalled, user_service
from bot.cli.manifest import PAIR, number_lines
from bot.config import AccountConfig
from bot.config.accounts import ACCOUNT_NAME
from bot.config.add import escaped, load, new_account, save, with_account, with_model, with_owner
from bot.config.platforms import find_platform, known_platforms
from bot.domain import LOCAL_PLATFORMS
from bot.errors import StartError
from bot.platforms.setup import CreatedApp
from bot.texts import Texts

LOG = "journalctl --user --unit roebot --follow"
LINGER = "loginctl enable-linger"


@dataclass(frozen=True, slots=True)
class InitArguments:
    """Arguments of `roebot init`. `path` is the file to write; `home` is None for the default.

    `prompts` asks in the person's language.
    """

    platform: str
    name: str
    path: Path
    base_url: str
    file: Path | None
    home: Path | None
    prompts: Prompts

    @property
    def texts(self) -> Texts:
        """The texts in the user's language."""
        return self.prompts.texts


@dataclass(frozen=True, slots=True)
class InitAnswers:
    """Answers to write; values in `settings` are written to the file unchanged.

    `is_app_created`: the platform created the app, so no steps are left there.
    """

    settings: Mapping[str, str]
    owner: OwnerAnswer
    model: ModelChoice | None
    is_app_created: bool = False


def init_command(
    platform: str, name: str, file: Path | None, base_url: str, home: Path | None, texts: Texts
) -> None:
    """Ask for the settings, test and write them, and print the next steps.

    Raises StartError or ConfigErrors before anything is written.
    """
    try:
        asked = _validate_arguments(platform, name, file, base_url, home, Prompts(texts))
        with silence_logs():
            answers = _collect_answers(asked)
        summary = _write(asked, answers)
    except KeyboardInterrupt:
        print()
        raise StartError(texts("setup_stopped")) from None
    print(summary)
    _print_next_steps(asked, answers)


def _validate_arguments(
    platform: str, name: str, file: Path | None, base_url: str, home: Path | None, prompts: Prompts
) -> InitArguments:
    """Validate the arguments before any token is entered."""
    path, texts = _path(file, home_folder(home)), prompts.texts
    load_draft(load(path), path)
    platform = platform or prompts.ask(texts("setup_platform", names=_names())).lower()
    if platform not in known_platforms() or platform in LOCAL_PLATFORMS:
        refused = find_platform(platform)
        if refused is not None and refused.offer is None:
            raise StartError(refused.complaint)
        raise StartError(texts("setup_not_a_platform", platform=platform, names=_names()))
    name = name or platform
    if not ACCOUNT_NAME.fullmatch(name):
        raise StartError(texts("setup_bad_name", name=name))
    new_account(load(path), str(path), name)
    return InitArguments(platform, name, path, base_url, file, home, prompts)


def _path(file: Path | None, home: Path) -> Path:
    """Return the path to write to. Raises ConfigErrors if that is impossible."""
    is_new = file is not None and not file.exists()
    path = file if is_new else find_config(file, os.environ, Path.cwd(), home)
    path = path or Path("config.yaml")
    folder = path.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise one_error(str(path), f"cannot be written: {folder} is not a writable directory")
    return path


def _collect_answers(asked: InitArguments) -> InitAnswers:
    setup = PlatformSetup(load_manifest(asked.platform), asked.texts)
    created = None if _is_in_environment(asked) else setup.create_app(asked.base_url, asked.prompts)
    if created is None:
        setup.print_steps()
    while (found := _try_account(asked, setup.guide.questions, created)) is None:
        pass
    settings, account, identity = found
    print(asked.texts("setup_identity", identity=identity))
    setup.print_invite(account)
    text = with_account(load(asked.path), str(asked.path), asked.name, settings)
    loaded = load_draft(text, asked.path)
    if created is not None and created.owner:
        print(asked.texts("setup_creator", person=created.owner))
        owner = OwnerAnswer(created.owner)
    else:
        owner = find_owner(account, identity, setup, asked.prompts)
    ours = loaded is not None and not loaded.config.models and loaded.config.runtime.url is None
    model = choose_model(asked.prompts) if ours else None
    return InitAnswers(settings, owner, model, is_app_created=created is not None)


def _try_account(
    asked: InitArguments, questions: Mapping[str, str], created: CreatedApp | None
) -> tuple[dict[str, str], AccountConfig, str] | None:
    """Return the accepted settings, the account and the bot's identity, or None to ask again."""
    settings = {} if asked.name == asked.platform else {"platform": asked.platform}
    settings |= {"base_url": asked.base_url} if asked.base_url else {}
    if created is not None:
        settings |= {key: escaped(value) for key, value in created.settings.items()}
    else:
        settings |= _values(asked, settings, questions)
    account = _account(asked, _resolved(settings))
    load_draft(with_account(load(asked.path), str(asked.path), asked.name, settings), asked.path)
    print("\n" + asked.texts("setup_connecting"), flush=True)
    try:
        return settings, account, run_loop(probe(account)).identity or asked.name
    except StartError as problem:
        if asked.prompts.confirm(f"\n{problem}.\n{asked.texts('setup_try_again')}", default=True):
            return None
        raise StartError(asked.texts("setup_gave_up", problem=problem)) from None


def _names() -> str:
    return ", ".join(sorted(platform for platform in known_platforms() if platform not in LOCAL_PLATFORMS))


def _values(
    asked: InitArguments, settings: Mapping[str, str], questions: Mapping[str, str]
) -> dict[str, str]:
    """Return the account's keys, each as `$NAME` if that variable is set, otherwise as the typed value."""
    print()
    platform, prompts = known_platforms()[asked.platform], asked.prompts
    values: dict[str, str] = {}
    for key, question in platform.asked_too.items():
        default = str(platform.model_fields[key].default)
        prompt = prompts.question(questions.get(key, question), default)
        answer = prompts.ask(prompt, default).lower()
        values |= {key: answer} if answer != default else {}
    empty = _account(asked, {**settings, **values})
    for key in [key for key in empty.needs() if key not in settings]:
        variable = _variable(asked, key)
        if os.environ.get(variable):
            print(prompts.texts("setup_from_environment", key=key, variable=variable))
            values[key] = f"${variable}"
        else:
            about = (platform.model_fields[key].description or key).rstrip(".")
            prompt = prompts.question(questions.get(key, about))
            secret = key in empty.secrets()
            values[key] = escaped(prompts.ask_secret(prompt) if secret else prompts.ask(prompt))
    return values


def _variable(asked: InitArguments, key: str) -> str:
    """Return the environment variable that may contain a key of the account."""
    return f"{asked.name}_{key}".upper().replace("-", "_")


def _is_in_environment(asked: InitArguments) -> bool:
    """Return whether the environment contains a key of the account, which means that its app exists."""
    return any(os.environ.get(_variable(asked, key)) for key in _account(asked, {}).needs())


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
        return known_platforms()[asked.platform].model_validate(named)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise StartError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _write(asked: InitArguments, answers: InitAnswers) -> str:
    """Write everything at once and return the lines to print."""
    file = str(asked.path)
    text = with_account(load(asked.path), file, asked.name, answers.settings)
    if answers.owner.person:
        text = with_owner(text, file, asked.name, asked.platform, answers.owner.person)
    model = answers.model
    if model is not None and model.entry:
        text = with_model(text, file, model.entry)
    load_draft(text, asked.path)
    private = _holds_secret(asked, answers)
    save(asked.path, text, private=private)
    lines = ["", asked.texts("setup_added", name=asked.name, file=file)]
    lines += [asked.texts("setup_private")] if private else []
    lines += [asked.texts("setup_model", label=model.label)] if model is not None else []
    return "\n".join(lines)


def _holds_secret(asked: InitArguments, answers: InitAnswers) -> bool:
    secrets = known_platforms()[asked.platform].secrets()
    typed = any(key in secrets and not _is_name(value) for key, value in answers.settings.items())
    return typed or (answers.model is not None and answers.model.secret)


def _is_name(value: str) -> bool:
    return re.fullmatch(r"\$[A-Za-z0-9_]*", value) is not None


def _print_next_steps(asked: InitArguments, answers: InitAnswers) -> None:
    """Print the next steps, and start the service if requested."""
    texts, found = asked.texts, find_service(home_folder(asked.home))
    steps = [texts("setup_start", command=_shell_command(asked, "run"))] if found is None else []
    setup = PlatformSetup(load_manifest(asked.platform), texts)
    if setup.guide.later_steps and not answers.owner.wrote and not answers.is_app_created:
        first, last = setup.first_later_step, setup.last_later_step
        steps.append(texts("setup_finish_steps", first=first, last=last))
    steps.append(setup.guide.write_to_it)
    if not answers.owner.person:
        steps.append(texts("setup_pair", pair=PAIR, chat=_shell_command(asked, "chat")))
    steps.append(texts("setup_trouble", command=_shell_command(asked, "doctor")))
    if found is not None:
        print(_describe_reload(found, asked.path, texts))
    print("\n" + texts("setup_next") + "\n")
    print("\n".join(number_lines(tuple(steps))), flush=True)
    if found is not None or _install_service(asked, answers):
        return
    if asked.prompts.confirm("\n" + texts("setup_start_now"), default=True):
        options = shared_options(asked.home, asked.file)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "bot.cli", "run", *options])  # noqa: S606


def _install_service(asked: InitArguments, answers: InitAnswers) -> bool:
    """Offer to install the service. Return whether it is running."""
    texts, model = asked.texts, answers.model
    more = [model.variable] if model is not None and model.variable else []
    service = user_service(asked.path, home_folder(asked.home), os.environ, more)
    if not service.is_offered() or not asked.prompts.confirm("\n" + texts("setup_install"), default=False):
        return False
    try:
        service.install()
    except ServiceNotInstalled as problem:
        print(texts("setup_not_installed", problem=problem))
        return False
    names = ", ".join(sorted(service.variables))
    print(texts("setup_installed", log=LOG, linger=LINGER, undo=service.undo))
    print(texts("setup_variables", file=service.environment, names=names))
    return True


def _describe_reload(found: RunningService, path: Path, texts: Texts) -> str:
    """Describe how a running service applies the change."""
    if found.config and Path(found.config) != path.resolve():
        return texts("setup_other_file", url=found.url, file=found.config)
    return texts("setup_reload", url=found.url)


def _shell_command(asked: InitArguments, command: str) -> str:
    """Return the shell command that runs a subcommand with this setup."""
    if command == "run" and not (asked.home or asked.file) and Path("Makefile").is_file():
        return "make run"
    return shell_command(command, home=asked.home, file=asked.file)
