"""Mark cases that only some adapters have to pass; others skip them with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bot.platforms.base import Adapter
from bot.testing.conformance.capabilities import implements
from bot.testing.conformance.driver import Ability, PlatformDriver

NOT_APPLICABLE = "not applicable: "
Need = type | Ability
Case = TypeVar("Case", bound=Callable[..., object])


def needs(*what: Need) -> Callable[[Case], Case]:
    """Restrict a case to adapters with these protocols, on platforms with these abilities."""

    def marked(case: Case) -> Case:
        case.__dict__["needs"] = what
        return case

    return marked


def lacking(case: Callable[..., object], adapter: Adapter, platform: PlatformDriver) -> str:
    """Return the reason why a case does not apply, "" if it does."""
    for need in getattr(case, "needs", ()):
        if isinstance(need, Ability):
            if need in platform.cannot:
                return f"{need.value}: {platform.cannot[need]}"
        elif not implements(adapter, need):
            return f"the adapter is not {need.__name__}"
    return ""
