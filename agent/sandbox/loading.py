"""A sandbox provider by its name in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.sandbox.options import Surroundings

METHODS = ("acquire", "get", "release", "close")


def load_provider(
    use: str, around: Surroundings, settings: Mapping[str, Any] | None = None
) -> SandboxProvider:
    """Import `package.module:Class` and make it: by its `from_config(around, **settings)` where it has one,
    else by calling it so. Raises SandboxUnavailable, which names what is wrong but no setting's value.
    """
    module_name, _, class_name = use.partition(":")
    try:
        found = getattr(import_module(module_name), class_name)
    except ModuleNotFoundError as error:
        raise SandboxUnavailable(f"The package of the sandbox {use} is missing: {error.name}.") from error
    except AttributeError:
        raise SandboxUnavailable(f"{module_name} has no {class_name} (sandbox.use: {use}).") from None
    try:
        made = getattr(found, "from_config", found)(around, **(settings or {}))
    except (TypeError, ValueError) as error:
        kind = type(error).__name__
        raise SandboxUnavailable(f"The settings of the sandbox {use} don't fit ({kind}).") from error
    if lacking := [name for name in METHODS if not callable(getattr(made, name, None))]:
        raise SandboxUnavailable(f"{use} is no sandbox provider: it has no method {lacking[0]}.")
    provider: SandboxProvider = made
    return provider
