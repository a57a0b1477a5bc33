"""Discovery of platforms in the entry point group `roebot.platforms`: Roebot's own and those of other
packages.

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

from bot.config.accounts import ACCOUNT_NAME, AccountConfig

GROUP = "roebot.platforms"
OWN_PACKAGE = "roebot"


class OfferedPlatform(Protocol):
    """The parts of `bot.platforms.manifest.Platform` that the configuration uses."""

    @property
    def account(self) -> type[AccountConfig]:
        """Schema of an account's entry."""
        ...


class UnusableAccount(AccountConfig):
    """An account on an unusable platform. Only this account fails at startup."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True)
class InstalledPlatform:
    """A package's platform. Without an `offer` it is unusable, for the reason in `problem`."""

    name: str
    package: str
    offer: OfferedPlatform | None = None
    problem: str = ""
    is_built_in: bool = False

    @property
    def complaint(self) -> str:
        """Return one line that names the package and its problem."""
        return f"the platform {self.name} from the package {self.package} can't be used: {self.problem}"


@cache
def find_platform(name: str) -> InstalledPlatform | None:
    """Return a platform by name, loaded once per process; None if no package provides it.

    The built-in one has priority. A platform that several other packages offer can't be used.
    """
    points = _entries().get(name, ())
    own = [point for point in points if _is_built_in(point)]
    if own:
        return _load(own[0])
    if len(points) > 1:
        packages = " and ".join(_package(point) for point in points)
        return InstalledPlatform(name, packages, problem="several packages offer it; uninstall all but one")
    return _load(points[0]) if points else None


def installed_platforms() -> Mapping[str, InstalledPlatform]:
    """Return all platforms by name, including unusable ones; the built-in ones come first."""
    platforms = [platform for name in _entries() if (platform := find_platform(name)) is not None]
    return {one.name: one for one in sorted(platforms, key=lambda one: not one.is_built_in)}


def refused_platforms() -> tuple[InstalledPlatform, ...]:
    """Return the unusable platforms, including any that would replace a built-in one."""
    installed = installed_platforms()
    replacing = [
        InstalledPlatform(name, _package(point), problem="it is built in, and a plug-in can't replace it")
        for name, points in _entries().items()
        for point in points
        if installed[name].is_built_in and not _is_built_in(point)
    ]
    return (*replacing, *(one for one in installed.values() if one.offer is None))


def known_platforms() -> Mapping[str, type[AccountConfig]]:
    """Return the account schema of every usable platform."""
    return {one.name: one.offer.account for one in installed_platforms().values() if one.offer is not None}


def built_in_platforms() -> Mapping[str, type[AccountConfig]]:
    """Return the account schema of every built-in platform."""
    built_in = {name for name, platform in installed_platforms().items() if platform.is_built_in}
    return {name: schema for name, schema in known_platforms().items() if name in built_in}


def find_schema(platform: str) -> type[AccountConfig] | None:
    """Return a platform's account schema, or None if the platform does not exist. Loads no other platform."""
    found = find_platform(platform)
    if found is None:
        return None
    return found.offer.account if found.offer else UnusableAccount


def needed_keys(platform: str) -> Mapping[str, str]:
    """Return the required keys of this platform's accounts, each with its variable's name."""
    account = known_platforms()[platform].model_validate({"name": platform, "platform": platform})
    return {key: f"{platform}_{key}".upper().replace("-", "_") for key in account.needs()}


@cache
def _entries() -> Mapping[str, tuple[EntryPoint, ...]]:
    entries: dict[str, tuple[EntryPoint, ...]] = {}
    for point in _distinct(entry_points(group=GROUP)):
        entries[point.name] = (*entries.get(point.name, ()), point)
    return dict(sorted(entries.items()))


def _distinct(points: Iterable[EntryPoint]) -> Iterable[EntryPoint]:
    """Drop a package's duplicate entry points, because a folder may occur twice on the path."""
    return {(point.name, point.value, _package(point)): point for point in points}.values()


def _load(point: EntryPoint) -> InstalledPlatform:
    package, is_built_in = _package(point), _is_built_in(point)
    try:
        offer = point.load()
        problem = "" if is_built_in else _problem(point.name, offer)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - others' code, which must not stop this service
        offer, problem = None, describe_failure(error)
    return InstalledPlatform(point.name, package, None if problem else offer, problem, is_built_in)


def describe_failure(error: BaseException) -> str:
    """Return a one-line description of a plug-in's exception, without the values passed to it."""
    if isinstance(error, ValidationError):
        details = error.errors(include_url=False, include_input=False)
        complaints = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in details)
        return f"ValidationError: {'; '.join(complaints)}"
    return " ".join(f"{type(error).__name__}: {error}".split())


def _problem(name: str, offer: object) -> str:
    account = getattr(offer, "account", None)
    if not ACCOUNT_NAME.fullmatch(name):
        return "expected a name of lowercase letters, digits, - and _, starting with a letter"
    if not (isinstance(account, type) and issubclass(account, AccountConfig)):
        return "its entry point is not a bot.platforms.manifest.Platform with an AccountConfig"
    if account.model_fields["platform"].default != name:
        return f'the field `platform` of {account.__name__} must have the default "{name}"'
    return _schema_problem(name, account)


def _schema_problem(name: str, account: type[AccountConfig]) -> str:
    """Check a schema the way the configuration, `init` and the console use it. Return its problem, including
    any exception.
    """
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


def _is_built_in(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == OWN_PACKAGE


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "?"
