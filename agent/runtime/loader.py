"""Loading of graphs by an import string or a `langgraph.json` of the LangGraph CLI."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import orjson
import structlog
from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.applications import Starlette

from agent.errors import GraphLoadError
from agent.runtime.cors import CorsSettings
from agent.runtime.hosted_project import HostedProject
from agent.runtime.http.bodies import MAX_TTL_MINUTES
from agent.runtime.http_keys import HttpKeys
from agent.runtime.settings import ProjectSettings
from agent.runtime.webhook_settings import SECRET_VARIABLE, WebhookSettings, read_secret

log = structlog.get_logger("agent.runtime")


class GraphEntry(BaseModel):
    """Entry of a graph with a description."""

    model_config = ConfigDict(extra="ignore")
    path: str
    description: str | None = None


class ThreadTtl(BaseModel):
    """Expiry of new threads. They are swept every minute, so `sweep_*` has no effect."""

    model_config = ConfigDict(extra="ignore")
    strategy: Literal["delete", "keep_latest"] = "delete"
    default_ttl: float | None = Field(default=None, ge=0, le=MAX_TTL_MINUTES)


class CheckpointerKeys(BaseModel):
    """Keys of `checkpointer` that this runtime uses."""

    model_config = ConfigDict(extra="allow")
    ttl: ThreadTtl | None = None


class AuthKeys(BaseModel):
    """`auth`. The user of LangGraph's Studio is never let in, and decisions are not cached."""

    model_config = ConfigDict(extra="forbid")
    path: str
    disable_studio_auth: bool = True
    allow_langsmith_api_keys: Literal[False] | None = None
    openapi: Any = None
    cache: Any = None


class GraphsFile(BaseModel):
    """Keys of a `langgraph.json` that this runtime uses; other keys are ignored."""

    model_config = ConfigDict(extra="ignore")
    graphs: dict[str, str | GraphEntry] = Field(min_length=1)
    dependencies: list[str] = Field(default_factory=list)
    env: str | dict[str, str] = Field(default_factory=dict)
    checkpointer: CheckpointerKeys | None = None
    auth: AuthKeys | None = None
    http: HttpKeys = Field(default_factory=HttpKeys)
    webhooks: WebhookSettings | None = None
    encryption: Any = None

    @field_validator("http", mode="before")
    @classmethod
    def _parse_http(cls, value: Any) -> Any:
        return {} if value is None else value


UNSUPPORTED_SECURITY = ("encryption",)
"""Keys that protect graphs on LangGraph's own server. Ignoring them would serve the graphs unprotected. The
same holds for the keys of `auth` and `http` that are not in `AuthKeys` and `HttpKeys`.
"""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """Sources and descriptions by graph name, the origins whose pages may call, and other settings."""

    sources: Mapping[str, Callable[[], Any]]
    descriptions: Mapping[str, str]
    cors: CorsSettings = field(default_factory=CorsSettings)
    project: ProjectSettings = field(default_factory=ProjectSettings)


def parse_graphs_file(path: Path) -> GraphsFile:
    """Return the content of the file. Raises `GraphLoadError` if this runtime can't serve it."""
    try:
        file = GraphsFile.model_validate(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise GraphLoadError(f"can't read {path.name}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise GraphLoadError(f"{path.name} is not JSON: {error}") from error
    except ValidationError as error:
        places = (".".join(map(str, item["loc"])) for item in error.errors())
        problems = "; ".join(map(": ".join, zip(places, problems_in(error), strict=True)))
        raise GraphLoadError(f"{path.name}: {problems}") from error
    refused = [key for key in UNSUPPORTED_SECURITY if getattr(file, key)]
    refused += [f"http.{key}" for key in file.http.unknown]
    if refused:
        raise GraphLoadError(
            f"{path.name}: this runtime does not implement {', '.join(refused)}, and ignoring "
            "a key could leave the graphs unprotected. Check its spelling, remove it to serve the graphs "
            "without it, or use LangGraph's own server"
        )
    return file


def problems_in(error: ValidationError) -> list[str]:
    """Return the problem of each invalid value."""
    return [
        "unknown key" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, ")
        for item in error.errors()
    ]


def read_graphs_file(path: Path) -> LoadedFile:
    """Read the file, add its dependencies to `sys.path`, and set environment variables from its env that are
    unset.

    Graphs are imported on first use. Raises `GraphLoadError`.
    """
    file = parse_graphs_file(path)
    base = path.resolve().parent
    local = [base / one for one in file.dependencies if one.startswith(".")]
    folders = [place.resolve() for one in local for place in (one / "src", one) if place.is_dir()]
    project = HostedProject.install(folders)
    _add_to_path(folders, is_last=project is not None)
    for name, value in _read_environment(file.env, base).items():
        os.environ.setdefault(name, value)
    if file.checkpointer is not None and file.checkpointer.model_extra:
        log.info(
            "checkpointer_of_graphs_file_unused",
            reason="this runtime stores checkpoints in its own data directory",
        )
    entries = {
        name: entry if isinstance(entry, GraphEntry) else GraphEntry(path=entry)
        for name, entry in file.graphs.items()
    }
    return LoadedFile(
        sources={name: partial(load_object, entry.path, base, project) for name, entry in entries.items()},
        descriptions={name: entry.description for name, entry in entries.items() if entry.description},
        cors=file.http.cors or CorsSettings(),
        project=_read_settings(file, base, project),
    )


def _read_settings(file: GraphsFile, base: Path, project: HostedProject | None) -> ProjectSettings:
    webhooks = file.webhooks and file.webhooks.resolve_headers(os.environ)
    secret = read_secret(os.environ)
    os.environ.pop(SECRET_VARIABLE, None)
    ttl = file.checkpointer and file.checkpointer.ttl
    http, auth = file.http, None
    if file.auth is not None:
        from agent.runtime.auth import ProjectAuth

        auth = ProjectAuth(load_object(file.auth.path, base, project))
    return ProjectSettings(
        webhooks,
        secret,
        disabled=http.disabled,
        headers=http.configurable_headers,
        app=_load_application(http.app, base, project) if http.app else None,
        has_open_app=not http.enable_custom_route_auth,
        auth=auth,
        thread_ttl=(ttl.strategy, ttl.default_ttl) if ttl and ttl.default_ttl is not None else None,
    )


def _load_application(reference: str, base: Path, project: HostedProject | None) -> Starlette:
    found = load_object(reference, base, project)
    if not isinstance(found, Starlette):
        raise GraphLoadError(f"http.app: {reference!r} is not a Starlette or FastAPI application")
    return found


def load_object(reference: str, base: Path | None = None, project: HostedProject | None = None) -> Any:
    """Import the object in `./file.py:name` or `package.module:name`. Raises `GraphLoadError`.

    `project` is set if it has packages that are named like ours.
    """
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute:
        raise GraphLoadError(f"{reference!r} must have the format module:attribute or ./file.py:attribute")
    try:
        if place.endswith(".py") or "/" in place:
            module = _import_file(place if base is None else str(base / place), project)
        else:
            module = importlib.import_module(place) if project is None else project.import_module(place)
    except (ImportError, SyntaxError, FileNotFoundError) as error:
        text = str(error) if project is None else str(error).replace(f"{project.name}.", "")
        raise GraphLoadError(f"can't import {place!r}: {type(error).__name__}: {text}") from error
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise GraphLoadError(f"{place!r} has no {attribute!r}") from None
    return found


def _import_file(place: str, project: HostedProject | None) -> ModuleType:
    path = Path(place).resolve()
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == str(path) and name != "__main__":
            return module
    name = f"_graph_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise GraphLoadError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    if project is not None:
        vars(module)["__builtins__"] = project.builtins
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _add_to_path(folders: Sequence[Path], *, is_last: bool) -> None:
    """Make modules importable; with `is_last`, after ours, because child processes inherit the path."""
    places = [text for text in map(str, folders) if text not in sys.path]
    sys.path[:] = [*sys.path, *places] if is_last else [*places, *sys.path]


def _read_environment(env: str | dict[str, str], base: Path) -> dict[str, str]:
    if isinstance(env, dict):
        return env
    try:
        values = dotenv_values(stream=StringIO((base / env).read_text(encoding="utf-8")))
    except OSError as error:
        raise GraphLoadError(f"can't read the env file {env!r}: {error.strerror}") from error
    return {name: value for name, value in values.items() if value is not None}
