"""Cases that only some adapters have to pass: their protocols and abilities, and the report of skips."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from bot.platforms import base
from bot.platforms.base import Adapter, RepeatsSafely
from roebot_testing.conformance.driver import ACTS, LACKS, Ability, PlatformDriver

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
    """Return the reason why a case does not apply, or "" if it does."""
    for need in getattr(case, "needs", ()):
        if isinstance(need, Ability):
            if need in platform.cannot:
                return f"{need.value}: {platform.cannot[need]}"
            if need in ACTS and not _overrides(platform, ACTS[need]):
                return f"{need.value}: {LACKS}"
        elif not implements(adapter, need):
            return f"the adapter is not {need.__name__}"
    return ""


def _overrides(platform: PlatformDriver, method: str) -> bool:
    return getattr(type(platform), method) is not getattr(PlatformDriver, method)


def optional_protocols() -> tuple[type, ...]:
    """Return every optional protocol, in the order of the module."""
    return tuple(
        found
        for found in vars(base).values()
        if getattr(found, "_is_runtime_protocol", False)
        and getattr(found, "__module__", "") == base.__name__
        and found is not Adapter
    )


def implements(adapter: object, protocol: type) -> bool:
    """Return whether an adapter implements a protocol and, for RepeatsSafely, guarantees it."""
    if not isinstance(adapter, protocol):
        return False
    return not (protocol is RepeatsSafely and isinstance(adapter, RepeatsSafely)) or adapter.repeats_safely


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the cases of the suite that did not apply, by the class that ran it and the reason."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _, marked, why = reason.partition(NOT_APPLICABLE)
        if marked:
            found[report.nodeid.split("::")[1]][why] += 1
    if not found:
        return
    total = sum(sum(reasons.values()) for reasons in found.values())
    terminalreporter.section(f"conformance: {total} cases not applicable")
    for name, reasons in sorted(found.items()):
        terminalreporter.write_line(f"{name}: {sum(reasons.values())} cases not applicable")
        for why, count in sorted(reasons.items()):
            terminalreporter.write_line(f"  {count} × {why}")
