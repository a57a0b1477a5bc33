"""`roebot init`: set up a working account. Answers are collected and tested before anything is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr, ValidationError

from agent.config.errors import one_error
from agent.config.reader import find_config
from agent.config.secrets_file import secrets_path
from bot.app.accounts import load_manifest
from bot.app.home import RunningService, find_service
from bot.cli.common import check_draft, home_folder, run_loop, save_changes, shared_options, shell_command
from bot.cli.connect_probe import probe, silence_logs
from bot.cli.init.platform_setup import PlatformSetup
from bot.cli.init.prompts import Prompts
from bot.cli.init.questions import ModelChoice, OwnerAnswer, choose_model, find_owner
from bot.cli.init.user_service import ServiceNotInstalled, user_service
from bot.cli.manifest import PAIR, number_lines
from bot.config import AccountConfig, LoadedConfig
from bot.config.accounts import ACCOUNT_NAME
from bot.config.changes import ConnectAccount
from bot.config.platforms import find_platform, known_platforms
from bot.config.versions import ConfigFile
from bot.domain import LOCAL_PLATFORMS
from bot.errors import StartError
from bot.platforms.setup import CreatedApp, SetupGuide, translate_problem
from bot.texts import Texts

LOG = "journalctl --user --unit roebot --follow"
LINGER = "loginctl enable-linger"


@dataclass(frozen=True, slots=True)
class InitArguments:
    """Arguments of `roebot init`. `config` is the file to write; `home` is None for the default.

    `prompts` asks in the person's language.
    """

    platform: str
    name: str
    config: ConfigFile
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
    """Answers to write. `is_app_created`: the platform created the app, so no steps are left there."""

    account: ConnectAccount
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
    config = ConfigFile(path, home_folder(home), os.environ)
    draft = config.make_draft()
    check_draft(config, draft)
    platform = platform or prompts.ask(texts("setup_platform", names=_names())).lower()
    if platform not in known_platforms() or platform in LOCAL_PLATFORMS:
        refused = find_platform(platform)
        if refused is not None and refused.offer is None:
            raise StartError(refused.complaint)
        raise StartError(texts("setup_not_a_platform", platform=platform, names=_names()))
    name = name or platform
    if not ACCOUNT_NAME.fullmatch(name):
        raise StartError(texts("setup_bad_name", name=name))
    draft.check_new(("channels", name))
    return InitArguments(platform, name, config, base_url, file, home, prompts)


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
    while (found := _try_account(asked, setup.guide, created)) is None:
        pass
    change, account, identity, loaded = found
    print(asked.texts("setup_identity", identity=identity))
    setup.print_invite(account)
    if created is not None and created.owner:
        print(asked.texts("setup_creator", person=created.owner))
        owner = OwnerAnswer(created.owner)
    else:
        owner = find_owner(account, identity, setup, asked.prompts)
    ours = loaded is not None and not loaded.config.models and loaded.config.runtime.url is None
    model = choose_model(asked.prompts) if ours else None
    return InitAnswers(change, owner, model, is_app_created=created is not None)


def _try_account(
    asked: InitArguments, guide: SetupGuide, created: CreatedApp | None
) -> tuple[ConnectAccount, AccountConfig, str, LoadedConfig | None] | None:
    """Return the change, account, identity and configuration (None: not loadable here); None: ask again."""
    change = ConnectAccount(name=asked.name, platform=asked.platform)
    settings = {"base_url": asked.base_url} if asked.base_url else {}
    if created is not None:
        settings |= created.settings
    else:
        settings |= _values(asked, settings, guide.questions, change.variables)
    change.settings = {key: SecretStr(value) for key, value in settings.items()}
    named = {key: os.environ[variable] for key, variable in change.variables.items()}
    account = _account(asked, {**settings, **named})
    draft = asked.config.make_draft()
    change.apply(draft)
    loaded = check_draft(asked.config, draft)
    print("\n" + asked.texts("setup_connecting"), flush=True)
    try:
        return change, account, run_loop(probe(account)).identity or asked.name, loaded
    except StartError as error:
        problem = translate_problem(str(error), asked.texts.locale, guide)
        if asked.prompts.confirm(f"\n{asked.texts('setup_again', problem=problem)}", default=True):
            return None
        raise StartError(asked.texts("setup_gave_up", problem=problem)) from None


def _names() -> str:
    return ", ".join(sorted(platform for platform in known_platforms() if platform not in LOCAL_PLATFORMS))


def _values(
    asked: InitArguments,
    settings: Mapping[str, str],
    questions: Mapping[str, str],
    variables: dict[str, str],
) -> dict[str, str]:
    """Return the typed keys of the account, and add to `variables` those whose variable is set."""
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
            variables[key] = variable
        else:
            about = (platform.model_fields[key].description or key).rstrip(".")
            prompt = prompts.question(questions.get(key, about))
            secret = key in empty.secrets()
            values[key] = prompts.ask_secret(prompt) if secret else prompts.ask(prompt)
    return values


def _variable(asked: InitArguments, key: str) -> str:
    """Return the environment variable that may contain a key of the account."""
    return f"{asked.name}_{key}".upper().replace("-", "_")


def _is_in_environment(asked: InitArguments) -> bool:
    """Return whether the environment contains a key of the account, which means that its app exists."""
    return any(os.environ.get(_variable(asked, key)) for key in _account(asked, {}).needs())


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
    model = answers.model
    account = answers.account.model_copy(update={"owner": answers.owner.person})
    draft = asked.config.make_draft(model.offers if model else {})
    added = [model.change] if model and model.change else []
    save_changes(asked.config, [account, *added], draft)
    file = str(asked.config.path)
    lines = ["", asked.texts("setup_added", name=asked.name, file=file)]
    if draft.secrets:
        lines.append(asked.texts("setup_private", file=secrets_path(asked.config.path)))
    lines += [asked.texts("setup_model", label=model.label)] if model is not None else []
    return "\n".join(lines)


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
        print(_describe_reload(found, asked.config.path, texts))
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
    service = user_service(asked.config.path, home_folder(asked.home), os.environ, more)
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
