"""Import of the object in a `use:` key, as `package.module:name`."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.errors import redact_line
from agent.shared.install_hints import find_requirement, install_command


class ImportProblem(StrEnum):
    """Reason why an import failed."""

    PACKAGE = "package"
    UNKNOWN = "unknown"
    MODULE = "module"
    NAME = "name"
    BROKEN = "broken"


_TEXTS: Mapping[ImportProblem, str] = {
    ImportProblem.PACKAGE: "{use} needs the package {package}, which is not installed."
    " Install it in Roebot's environment; no restart is needed: {command}",
    ImportProblem.UNKNOWN: "There is no module {module} (use: {use})."
    " Roebot looks in the installed packages and then in the folder that contains config.yaml.",
    ImportProblem.MODULE: "There is no module {module} (use: {use}).",
    ImportProblem.NAME: "{module} has no {name} (use: {use}).",
    ImportProblem.BROKEN: "{module} can't be imported ({detail}).",
}


_CACHE_LOCK = threading.Lock()


class ImportStringError(Exception):
    """An import string that cannot be resolved; `str()` is one line that includes the remedy."""

    def __init__(self, problem: ImportProblem, **facts: str) -> None:
        self.problem = problem
        super().__init__(_TEXTS[problem].format(**facts))


def add_import_folder(folder: Path) -> None:
    """Add this folder to the module search path."""
    if (entry := str(folder)) not in sys.path:
        sys.path.append(entry)


def import_object(use: str) -> Any:
    """Import the object, including from recently installed packages. Blocking.

    Raises ImportStringError.
    """
    module, _, name = use.partition(":")
    if module not in sys.modules:
        # Two threads that invalidate the same cache entries at once would fail.
        with _CACHE_LOCK:
            invalidate_caches()
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise _missing_module(use, module, error) from error
    except AttributeError as error:
        if error.name != name:
            raise _broken_module(module, error) from error
        raise ImportStringError(ImportProblem.NAME, use=use, module=module, name=name) from None
    except Exception as error:
        raise _broken_module(module, error) from error


def check_arguments(found: Any, settings: Mapping[str, Any]) -> str:
    """Return the settings that a class does not accept or is missing; "" if there are none."""
    taken = inspect.signature(found).parameters.values()
    named = {one.name: one for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in taken)
    unknown = [] if takes_any else [key for key in settings if key not in named]
    missing = [key for key, one in named.items() if one.default is one.empty and key not in settings]
    if not unknown and not missing:
        return ""
    wrong = f"unknown key {', '.join(unknown)}" if unknown else f"missing key {', '.join(missing)}"
    return f"{wrong}; known: {', '.join(named) or 'none'}"


def _missing_module(use: str, module: str, error: ModuleNotFoundError) -> ImportStringError:
    """Distinguish a package that is not installed from a module missing in an installed package."""
    if error.name is None:
        return _broken_module(module, error)
    package = error.name.partition(".")[0]
    if find_spec(package) is not None:
        return ImportStringError(ImportProblem.MODULE, use=use, module=error.name)
    requirement = find_requirement(package)
    if requirement is None:
        return ImportStringError(ImportProblem.UNKNOWN, use=use, module=package)
    return ImportStringError(
        ImportProblem.PACKAGE, use=use, package=package, command=install_command(requirement)
    )


def _broken_module(module: str, error: Exception) -> ImportStringError:
    detail = redact_line(f"{type(error).__name__}: {error}")
    return ImportStringError(ImportProblem.BROKEN, module=module, detail=detail)
