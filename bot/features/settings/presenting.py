"""The settings and options in the API's format, without secrets."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from agent.config.document import parse_document
from agent.config.env import VARIABLE
from agent.config.errors import ConfigErrors
from bot.app.accounts import load_manifest, load_setup
from bot.cli.model_setup import list_model_offers
from bot.config.accounts import AccountConfig
from bot.config.changes import SETTINGS, Change, ConnectAccount, ReplaceCredentials
from bot.config.concealment import mask_text
from bot.config.events import ISSUING, Kind
from bot.config.models import masked, schema, secrets_of
from bot.config.platforms import find_schema, known_platforms, needed_keys
from bot.config.versions import ConfigFile
from bot.domain import LOCAL_PLATFORMS
from bot.features.settings.schemas import (
    AccountSettings,
    CredentialState,
    EventSourceSettings,
    FieldOption,
    ModelSettings,
    Options,
    PlatformOption,
    Problem,
    ProviderOption,
    Settings,
)
from bot.platforms.setup import LinksToSetup, PrintsAppManifest, SetupGuide, translate_problem
from bot.server.api.dependencies import ApiServices

MODEL_KEYS = ("name", "model", "base_url", "api_key")
UNREADABLE = "(the text can't be shown, because it is not valid YAML)\n"


def present_problems(errors: ConfigErrors) -> list[Problem]:
    """Return the errors of a configuration in the API's format."""
    return [Problem(key=one.key, line=one.line or 0, text=one.message) for one in errors.errors]


def translate_problems(
    services: ApiServices, locale: str, changes: Iterable[Change], problems: Iterable[Problem]
) -> list[Problem]:
    """Return problems of changes as sentences in a language."""
    accounts, names = services.core.config.channels, list[str]()
    for change in changes:
        if isinstance(change, ConnectAccount):
            names.append(change.platform)
        elif isinstance(change, ReplaceCredentials) and change.account in accounts:
            names.append(accounts[change.account].platform)
    guides = [load_manifest(name).guide(locale) for name in names if find_schema(name)]
    return [one.model_copy(update={"text": _make_sentence(one.text, locale, guides)}) for one in problems]


def _make_sentence(text: str, locale: str, guides: Sequence[SetupGuide]) -> str:
    shown = translate_problem(text, locale, *guides)
    if shown.endswith((".", "。", "?", "!")):
        return shown
    return f"{shown}{'.' if shown == text else '。'}"


def hide_secrets(services: ApiServices, text: str, file: str) -> str:
    """Return the text of a configuration file without its secrets. Blocking."""
    try:
        return masked(mask_text(text, file), secrets_of(services.core.config))
    except ConfigErrors:
        return UNREADABLE


def show_difference(before: str, after: str, file: str) -> str:
    """Return a unified difference of two texts."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    lines = difflib.unified_diff(old, new, fromfile=file, tofile=file, n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def present_settings(services: ApiServices, file: ConfigFile) -> Settings:
    """Return the settings of a file. Blocking."""
    config, problems, data, version = services.core.config, list[Problem](), dict[str, Any](), "none"
    try:
        draft = file.make_draft()
        version = draft.version
        data = parse_document(mask_text(draft.text, draft.file), draft.file).data
        file.check(draft)
    except ConfigErrors as errors:
        problems = present_problems(errors)
    models = [one for one in data.get("models") or () if isinstance(one, dict)]
    return Settings(
        version=version,
        file=file.path.name,
        exists=version != "none",
        writable=os.access(file.path.resolve().parent, os.W_OK),
        problems=problems,
        models_here=config.runtime.url is None,
        accounts=[_present_account(services, *one) for one in _entries(data.get("channels"))],
        models=[_present_model(one, is_default=one is models[0]) for one in models],
        event_sources=_present_sources(data.get("events")),
        access=dict(_entries_of(data.get("access"))),
        budgets=dict(_entries_of(data.get("budgets"))),
        approvals=dict(_entries_of(data.get("approvals"))),
    )


def _entries_of(section: Any) -> Mapping[str, Any]:
    return section if isinstance(section, dict) else {}


def _entries(section: Any) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [(name, _entries_of(entry)) for name, entry in _entries_of(section).items()]


def _present_account(services: ApiServices, name: str, entry: Mapping[str, Any]) -> AccountSettings:
    platform = str(entry.get("platform") or name)
    state = services.core.accounts.state(name)
    kind = find_schema(platform)
    secret = kind.secrets() if kind else frozenset()
    needed = [key for key in (needed_keys(platform) if kind else ()) if key in secret]
    return AccountSettings(
        name=name,
        platform=platform,
        enabled=entry.get("enabled", True) is not False,
        state=state.live.value,
        reason=state.reason,
        identity=state.identity,
        values={key: value for key, value in entry.items() if key not in secret},
        credentials=[
            _credential(key, entry.get(key)) for key in dict.fromkeys([*needed, *entry]) if key in secret
        ],
    )


def _credential(key: str, value: Any) -> CredentialState:
    reference = VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return CredentialState(key=key, set=value not in (None, ""), variable=reference[1] if reference else "")


def _present_model(entry: Mapping[str, Any], *, is_default: bool) -> ModelSettings:
    return ModelSettings(
        name=str(entry.get("name", "")),
        model=str(entry.get("model") or ""),
        base_url=str(entry.get("base_url") or ""),
        default=is_default,
        values={key: value for key, value in entry.items() if key not in MODEL_KEYS},
        credentials=[_credential("api_key", entry.get("api_key"))],
    )


def _present_sources(events: Any) -> list[EventSourceSettings]:
    routes = [one for one in _entries_of(events).get("routes") or () if isinstance(one, dict)]
    return [
        EventSourceSettings(
            name=name,
            type=str(entry.get("type", "")),
            secret=bool(entry.get("secrets")),
            routes=[route for route in routes if route.get("source") in (name, [name])],
        )
        for name, entry in _entries(_entries_of(events).get("sources"))
    ]


def list_options(locale: str) -> Options:
    """Return what can be set up, with guides in a language. Blocking."""
    platforms = {name: kind for name, kind in known_platforms().items() if name not in LOCAL_PLATFORMS}
    return Options(
        platforms=[_present_platform(name, kind, locale) for name, kind in platforms.items()],
        providers=[
            ProviderOption(
                name=one["name"],
                label=one["label"],
                model=one["entry"]["model"],
                variable=one["variable"],
                available=one["here"],
            )
            for one in list_model_offers()
        ],
        event_types=list(get_args(Kind)),
        issuing_types=list(ISSUING),
        keys={section: sorted(keys) for section, keys in SETTINGS.items()},
        config_schema=schema(),
    )


def _present_platform(name: str, kind: type[AccountConfig], locale: str) -> PlatformOption:
    manifest = load_manifest(name)
    guide, helper = manifest.guide(locale), load_setup(manifest)
    link = helper.setup_link() if isinstance(helper, LinksToSetup) else ""
    needed = list(needed_keys(name))
    return PlatformOption(
        name=name,
        title=manifest.title_in(locale),
        fields=[_present_field(kind, key, guide.questions, needed) for key in (*kind.asked_too, *needed)],
        link=link,
        manifest=helper.app_manifest() if isinstance(helper, PrintsAppManifest) else "",
        steps=[step.replace("{link}", link) for step in guide.setup_steps],
        invite_step=guide.invite_step,
        later_steps=list(guide.later_steps),
        write_to_it=guide.write_to_it,
        person=guide.person or kind.person_words,
        person_pattern=kind.person_pattern,
    )


def _present_field(
    kind: type[AccountConfig], key: str, questions: Mapping[str, str], needed: Sequence[str]
) -> FieldOption:
    field = kind.model_fields[key]
    about = kind.asked_too.get(key) or (field.description or key).rstrip(".")
    choices = [one for one in get_args(field.annotation) if isinstance(one, str)]
    return FieldOption(
        key=key,
        label=questions.get(key, about),
        secret=key in kind.secrets(),
        required=key in needed,
        default=field.default if isinstance(field.default, str) else "",
        choices=choices,
    )
