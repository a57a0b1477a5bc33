"""Loading of config.yaml, and checks that span several sections."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from agent.config.document import ConfigDocument, parse_document, read_document
from agent.config.errors import ConfigWarning, KeyPath, Problems, join_words
from agent.config.loader import check_document
from agent.config.profile import list_custom_agents
from agent.config.reader import FILE_NAME, PATH_VARIABLE, display_path, find_config
from agent.config.secrets_file import read_secrets
from agent.shared.tokens import find_weakness
from bot.config.access import AccessConfig, AccessEntry, AccessOverrides
from bot.config.accounts import AccountConfig
from bot.config.models import Config, ServerConfig
from bot.config.platforms import find_schema, known_platforms

BOM = codecs.BOM_UTF8.decode()


def check(config: Config, problems: Problems, agents: Sequence[str] | None = None) -> None:
    """Report conflicts between sections. `agents` are the names of custom agents, None if unknown."""
    _check_server(config, problems)
    _check_accounts(config, problems)
    _check_models(config, problems)
    if agents is not None and not config.runtime.url:
        _check_agents(config, problems, agents)
    for path, entry in _entries(config):
        if complaint := _complaint(config, path, entry):
            problems.add(path, complaint)


def _check_server(config: Config, problems: Problems) -> None:
    server = config.server
    if server.token is None or server.is_loopback:
        return
    if weakness := find_weakness(server.token.get_secret_value()):
        problems.add(
            ("server", "token"),
            f"other machines can reach {server.host}, and {weakness}; remove the key to have a "
            "token generated, or use the output of `openssl rand -hex 32`",
        )


def _check_accounts(config: Config, problems: Problems) -> None:
    seen: dict[tuple[str, str], str] = {}
    for account in config.accounts:
        for key, advice in account.needs().items():
            if getattr(account, key) is None:
                problems.add(
                    ("channels", account.name, key), f"is missing; {advice}, or set `enabled: false`"
                )
        identity = _identity(account)
        if not identity:
            continue
        first = seen.setdefault((account.platform, identity), account.name)
        if first != account.name:
            problems.add(
                ("channels", account.name, account.identity),
                f"is also used by {first}; a bot can receive its messages in only one account",
            )


def _identity(account: AccountConfig) -> str:
    value = getattr(account, account.identity) if account.identity else None
    return value.get_secret_value() if isinstance(value, SecretStr) else value or ""


def _check_models(config: Config, problems: Problems) -> None:
    names = [model.name for model in config.models]
    if not names or config.runtime.url:
        return
    for account in config.accounts:
        if account.model is not None and account.model not in names:
            path = ("channels", account.name, "model")
            problems.add(path, f"unknown model; expected {join_words(sorted(names))}")
    for number, rule in enumerate(config.profiles):
        if rule.model is not None and rule.model not in names:
            problems.add(
                ("profiles", number, "model"), f"unknown model; expected {join_words(sorted(names))}"
            )


def _check_agents(config: Config, problems: Problems, agents: Sequence[str]) -> None:
    places: list[tuple[KeyPath, str | None]] = [
        (("channels", one.name, "agent"), one.agent) for one in config.accounts
    ]
    places += [(("profiles", number, "agent"), one.agent) for number, one in enumerate(config.profiles)]
    places += [
        (("events", "routes", number, "work", "agent"), one.work.agent)
        for number, one in enumerate(config.events.routes)
        if one.work
    ]
    for path, agent in places:
        if agent is not None and agent.strip().lower() not in agents:
            known = f"expected {join_words(agents)}, or create" if agents else "create"
            message = f"unknown agent; {known} the folder agents/{agent} in the data directory"
            problems.add(path, message)


def _entries(config: Config) -> Iterator[tuple[KeyPath, AccessEntry]]:
    places: list[tuple[KeyPath, AccessConfig | AccessOverrides]] = [(("access",), config.access)]
    places += [(("channels", name, "access"), account.access) for name, account in config.channels.items()]
    for path, access in places:
        for field in ("owners", "admins", "members", "blocked", "groups"):
            for index, entry in enumerate(getattr(access, field) or ()):
                yield (*path, field, index), entry
    yield from ((("oncall", *path), entry) for path, entry in config.oncall.list_entries())
    for name, account in config.channels.items():
        for index, rule in enumerate(account.apps):
            path = ("channels", name, "apps", index)
            yield (*path, "id"), rule.id
            for number, entry in enumerate(rule.chats):
                yield (*path, "chats", number), entry


def _complaint(config: Config, path: KeyPath, entry: AccessEntry) -> str | None:
    account = config.channels.get(entry.scope)
    kind = type(account) if account else find_schema(entry.scope)
    if kind is None:
        known = sorted({*known_platforms(), *config.channels})
        return f"{entry.scope} is neither a platform nor an account; expected {join_words(known)}"
    if path[0] == "channels":
        own = config.channels[str(path[1])]
        if entry.scope not in {own.name, own.platform}:
            return f"expected an entry for this account, such as {own.name}:id"
    if "apps" in path:
        return f"expected the id of an app or a chat after {entry.scope}:" if entry.kind else None
    return _wrong_id(kind, str(path[-2]), entry)


def wrong_entry(platform: str, entry: AccessEntry) -> str | None:
    """Return why the id of a person or group is invalid on the platform, or None if it is valid.

    Returns None for a valid id and for a platform with an unknown id format.
    """
    kind = find_schema(platform)
    if kind is None:
        return None
    problem = _wrong_id(kind, "blocked", entry)
    return problem if problem is None or entry.kind else f"{problem}, or {kind.group_words}"


def wrong_person(platform: str, entry: AccessEntry) -> str | None:
    """Return why a person's id is invalid on the platform, or None if it is valid.

    Returns None for a valid id and for a platform with an unknown id format.
    """
    kind = find_schema(platform)
    return _wrong_id(kind, "admins", entry) if kind else None


def _wrong_id(kind: type[AccountConfig], field: str, entry: AccessEntry) -> str | None:
    if entry.kind:
        return _wrong_kind(kind, entry)
    is_person = re.fullmatch(kind.person_pattern, entry.id) is not None
    is_group = re.fullmatch(kind.group_pattern, entry.id) is not None
    is_other = is_group or re.fullmatch(kind.app_pattern, entry.id) is not None
    if field != "groups" and not is_person and not (field == "blocked" and is_other):
        return f"expected {kind.person_words} after {entry.scope}: (the command whoami shows it to them)"
    if field == "groups" and not is_group:
        return f"expected {kind.group_words} after {entry.scope}:"
    return None


def _wrong_kind(kind: type[AccountConfig], entry: AccessEntry) -> str | None:
    pattern = kind.kind_patterns.get(entry.kind)
    if pattern is None:
        known = [f"{entry.scope}:{name}:id" for name in kind.kind_patterns]
        expected = join_words(known or [f"{entry.scope}:id"])
        return f"{entry.kind} ids do not exist on this platform; expected {expected}"
    if re.fullmatch(pattern, entry.id) is None:
        return f"expected a {entry.kind} id after {entry.scope}:{entry.kind}:"
    return None


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A valid configuration with its path, the warnings to log at startup, and its content fingerprint.

    `path` is None and `fingerprint` empty for the zero configuration.
    """

    config: Config
    path: Path | None = None
    warnings: tuple[ConfigWarning, ...] = ()
    fingerprint: str = ""


def load_config(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path | None = None
) -> LoadedConfig:
    """Find, read and check the configuration. Raises ConfigErrors with all problems.

    With `home`, the custom agents that accounts name must exist there. A `config.yaml` there is used if there
    is no other; otherwise, a warning names it.
    """
    path = find_config(explicit, env, cwd, home)
    if path is None:
        return LoadedConfig(Config())
    loaded = load_file(path, env, cwd, home)
    if explicit is not None or home is None or env.get(PATH_VARIABLE, "").strip():
        return loaded
    return replace(loaded, warnings=(*loaded.warnings, *_warn_unused(home / FILE_NAME, path, cwd)))


def _warn_unused(file: Path, found: Path, cwd: Path) -> Iterator[ConfigWarning]:
    if file.is_file() and not file.samefile(found):
        used = display_path(found, cwd)
        advice = (
            f"is ignored because {used} takes precedence. To use it, pass it with --config or remove {used}."
        )
        yield ConfigWarning(display_path(file, cwd), None, "", advice)


def load_file(
    path: Path,
    env: Mapping[str, str],
    cwd: Path,
    home: Path | None = None,
    *,
    may_be_empty: bool = True,
) -> LoadedConfig:
    """Read and check a file like `load_config`. An empty file is rejected unless `may_be_empty` is set.

    Raises ConfigErrors.
    """
    document = read_document(path, display_name=display_path(path, cwd), may_be_empty=may_be_empty)
    return _load_document(replace(document, secrets=read_secrets(path)), path, env, home)


def load_text(
    text: str, path: Path, env: Mapping[str, str], home: Path | None = None, secrets: Mapping[str, str] = {}
) -> LoadedConfig:
    """Check a text as the new content of a file, with new secrets in addition to those beside it.

    Errors refer to the file by its name. Raises ConfigErrors.
    """
    document = parse_document(text.removeprefix(BOM), path.name)
    known = {**read_secrets(path), **secrets}
    return _load_document(replace(document, secrets=known), path, env, home)


def _load_document(
    document: ConfigDocument, path: Path, env: Mapping[str, str], home: Path | None
) -> LoadedConfig:
    config, warnings = check_document(Config, document, env)
    problems = Problems(document)
    check(config, problems, _custom_agents(home))
    problems.raise_if_any()
    return LoadedConfig(config, path, warnings, document.fingerprint)


def load_server(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path | None = None
) -> ServerConfig:
    """Load only the `server` section, for clients of a running service.

    Other settings that the service needs, such as account tokens, may be missing here. Raises ConfigErrors.
    """
    path = find_config(explicit, env, cwd, home)
    if path is None:
        return ServerConfig()
    document = read_document(path, display_name=display_path(path, cwd))
    server = {key: value for key, value in document.data.items() if key == "server"}
    document = replace(document, data=server, secrets=read_secrets(path))
    return check_document(Config, document, env)[0].server


def _custom_agents(home: Path | None) -> tuple[str, ...] | None:
    """Return the names of the custom agents; None if they can't be read."""
    if home is None:
        return None
    try:
        return list_custom_agents(home)
    except OSError:
        return None
