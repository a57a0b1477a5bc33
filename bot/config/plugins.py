"""Find the platforms of other packages, which register in the entry point group `roebot.platforms`.

A plug-in is code that somebody installed in addition to Roebot, and is trusted like Roebot itself. One that
can't be used is skipped, with a reason. It never stops other accounts or replaces a built-in platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from pydantic import ConfigDict, ValidationError

from bot.config.accounts import ACCOUNT_NAME, PLATFORMS, AccountConfig

GROUP = "roebot.platforms"


class PluginPlatform(Protocol):
    """The part of `bot.platforms.base.Platform` that the configuration needs."""

    @property
    def account(self) -> type[AccountConfig]:
        """Schema of an account's entry."""
        ...


class UnusableAccount(AccountConfig):
    """An account on a platform whose plug-in can't be used: it fails at startup, and only this account."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True)
class PlatformPlugin:
    """A platform of another package. Without a `platform` it can't be used, for the reason in `problem`."""

    name: str
    package: str
    platform: PluginPlatform | None = None
    problem: str = ""

    @property
    def complaint(self) -> str:
        """Return one line that names the package and what is wrong with it."""
        return f"the platform {self.name} from the package {self.package} can't be used: {self.problem}"


@cache
def installed_plugins() -> Mapping[str, PlatformPlugin]:
    """Return the plug-ins by the name of their platform, loaded once in a process.

    A platform that several packages offer can't be used. Entries that name a built-in platform are left out
    here; `refused_plugins` has them.
    """
    found: dict[str, PlatformPlugin] = {}
    for name, points in _entries().items():
        if name not in PLATFORMS:
            found[name] = _load(points[0]) if len(points) == 1 else _ambiguous(name, points)
    return found


def refused_plugins() -> tuple[PlatformPlugin, ...]:
    """Return the plug-ins that can't be used."""
    replacing = [
        PlatformPlugin(name, _package(point), problem="it is built in, and a plug-in can't replace it")
        for name, points in _entries().items()
        for point in points
        if name in PLATFORMS
    ]
    return (*replacing, *(plugin for plugin in installed_plugins().values() if plugin.platform is None))


def known_platforms() -> Mapping[str, type[AccountConfig]]:
    """Return the account schema of every platform that can be used."""
    plugins = installed_plugins().values()
    return {**PLATFORMS, **{one.name: one.platform.account for one in plugins if one.platform is not None}}


def find_schema(platform: str) -> type[AccountConfig] | None:
    """Return the account schema of a platform, None if there is no such platform.

    Plug-ins are loaded only if the platform is not built in.
    """
    if platform in PLATFORMS:
        return PLATFORMS[platform]
    plugin = installed_plugins().get(platform)
    if plugin is None:
        return None
    return plugin.platform.account if plugin.platform else UnusableAccount


def needed_keys(platform: str) -> Mapping[str, str]:
    """Return the keys that an account of this platform needs, each with the name of its variable."""
    account = known_platforms()[platform].model_validate({"name": platform, "platform": platform})
    return {key: f"{platform}_{key}".upper().replace("-", "_") for key in account.needs()}


@cache
def _entries() -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in _distinct(entry_points(group=GROUP)):
        found[point.name] = (*found.get(point.name, ()), point)
    return dict(sorted(found.items()))


def _distinct(points: Iterable[EntryPoint]) -> Iterable[EntryPoint]:
    """Drop duplicate entries of a package, because a folder can be on the path twice."""
    return {(point.name, point.value, _package(point)): point for point in points}.values()


def _load(point: EntryPoint) -> PlatformPlugin:
    package = _package(point)
    try:
        offered = point.load()
        problem = _problem(point.name, offered)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - others' code, which must not stop this service
        return PlatformPlugin(point.name, package, problem=describe_failure(error))
    return PlatformPlugin(point.name, package, None if problem else offered, problem)


def describe_failure(error: BaseException) -> str:
    """Return one line about what a plug-in raised, without the values that it was given."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_input=False)
        complaints = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        return f"ValidationError: {'; '.join(complaints)}"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _problem(name: str, offered: object) -> str:
    account = getattr(offered, "account", None)
    if not ACCOUNT_NAME.fullmatch(name):
        return "expected a name of lowercase letters, digits, - and _, starting with a letter"
    if not (isinstance(account, type) and issubclass(account, AccountConfig)):
        return "its entry point is not a bot.platforms.base.Platform with an AccountConfig"
    if account.model_fields["platform"].default != name:
        return f'the field `platform` of {account.__name__} must have the default "{name}"'
    return _schema_problem(name, account)


def _schema_problem(name: str, account: type[AccountConfig]) -> str:
    """Use a schema as the configuration, `init` and the console do. Whatever it raises is its problem."""
    account.model_json_schema()
    for pattern in (account.person_pattern, account.group_pattern, account.app_pattern):
        re.compile(pattern)
    try:
        empty = account.model_validate({"name": name, "platform": name})
    except ValidationError as error:
        return (
            f"{account.__name__} needs a default for every key, and names those to set in `needs`: "
            f"{describe_failure(error)}"
        )
    unknown = [key for key in (*empty.needs(), *account.asked_too) if key not in account.model_fields]
    if unknown or (account.identity and account.identity not in account.model_fields):
        return f"{account.__name__} has no key {unknown[0] if unknown else account.identity}"
    return ""


def _ambiguous(name: str, points: Iterable[EntryPoint]) -> PlatformPlugin:
    packages = " and ".join(_package(point) for point in points)
    return PlatformPlugin(name, packages, problem="several packages offer it; uninstall all but one")


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "?"
