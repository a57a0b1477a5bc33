"""Options of sandbox providers, the resulting limits, and loading of a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError

from agent.config.document import SwitchWord
from agent.config.env import EnvText, parse_switch
from agent.config.reader import unknown_key_message
from agent.config.types import Count, Number, Secret, Section, Switch, Text, Url
from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.egress.rules import EgressRules, parse_hosts
from agent.sandbox.variables import CommandVariables, check_variable

if TYPE_CHECKING:
    from agent.core.state import ThreadData

IMAGE = "localhost/roebot-sandbox"
PROVIDER_METHODS = ("acquire", "get", "release", "close")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of a command and of a thread's folders; megabytes have 1,000,000 bytes.

    Of a command: `seconds`, `output_bytes` that are kept, `flood_bytes` of output that stop it, `processes`
    and threads, `memory_mb` of all of them together, and `open_files` of each. Of a thread: `disk_mb` and
    `disk_files`. `free_mb` of the disk stay free; `scratch_mb` is the size of `/tmp`.
    """

    seconds: float = 120.0
    output_bytes: int = 2_000_000
    flood_bytes: int = 50_000_000
    processes: int = 256
    memory_mb: int = 2_000
    open_files: int = 1_024
    disk_mb: int = 2_000
    disk_files: int = 200_000
    free_mb: int = 500
    scratch_mb: int = 256

    def time_for(self, seconds: float | None) -> float:
        """Return the time limit of a command that requests `seconds` (None: no preference)."""
        return self.seconds if seconds is None else min(seconds, self.seconds)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A provider's environment: a thread's folders, the data directory, and read-only folders by virtual
    path.
    """

    folders: Callable[[str], ThreadData]
    home: Path
    read_only: Mapping[str, Path] = field(default_factory=dict)


def read_variables(options: EnvironmentOptions) -> CommandVariables:
    skills = {name: _reveal_values(found) for name, found in options.skill_environment.items()}
    return CommandVariables(_reveal_values(options.environment), skills)


def _reveal_values(variables: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in variables.items()}


PUBLIC: Literal["public"] = "public"
NetworkSetting = Literal[False, "public"] | tuple[str, ...]
"""Value of `sandbox.network`: false, public, or host names and private networks."""


def _parse_network(value: object) -> NetworkSetting:
    """Validate the value. `true`, which used to mean every host, is now `public`."""
    if isinstance(value, EnvText | SwitchWord):
        value = parse_switch(value)
    if value is False:
        return False
    if value is True or value == PUBLIC:
        return PUBLIC
    if isinstance(value, str) and "." not in value:
        # A misspelled `public` would be taken for a host, and commands would silently reach nothing.
        raise ValueError(f"expected false, public or a list of host names, not {value!r}")
    entries = (value,) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, str) for entry in entries):
        raise ValueError("expected false, public or a list of host names")
    hosts: tuple[str, ...] = tuple(entries)
    parse_hosts(hosts)
    return hosts


NetworkAccess = Annotated[NetworkSetting, BeforeValidator(_parse_network)]


def make_proxy(network: NetworkSetting) -> EgressProxy | None:
    """Return the proxy for a value of `sandbox.network`, or None without network. Raises ValueError."""
    if network is False:
        return None
    return EgressProxy(EgressRules() if network == PUBLIC else parse_hosts(network))


class CommandLimits(Section):
    """Limits of commands on any machine."""

    seconds: Number = Field(120.0, gt=0, le=3_600, description="Time limit of a command in seconds.")
    memory_mb: Count = Field(2_000, description="Memory limit of a command in megabytes.")
    processes: Count = Field(
        256, description="Maximum number of processes and threads that a command may have at once."
    )
    disk_mb: Count = Field(2_000, description="Disk quota for a thread's folders in megabytes.")

    def limits(self) -> SandboxLimits:
        """Return the limits, with defaults for missing keys."""
        return SandboxLimits(
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            processes=self.processes,
            disk_mb=self.disk_mb,
        )


def _check_variables(value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
    for name, text in value.items():
        check_variable(name, text.get_secret_value())
    return value


Variables = Annotated[Mapping[str, SecretStr], AfterValidator(_check_variables)]


class EnvironmentOptions(Section):
    """Environment variables of commands."""

    environment: Variables = Field(
        default_factory=dict,
        description="Environment variables of all commands, such as secrets that skills require, as $NAME.",
    )
    skill_environment: Mapping[Text, Variables] = Field(
        default_factory=dict,
        description="Environment variables by skill, only for commands that name the skill's folder.",
    )


class LimitOptions(CommandLimits, EnvironmentOptions):
    """Options of sandboxes on this machine."""

    network: NetworkAccess = Field(
        False,
        description="false: no network; public: hosts on the public internet; or a list of allowed hosts, "
        "such as example.org or *.example.org. Ports 80 and 443 unless an entry has another one.",
    )


class LocalOptions(LimitOptions):
    """Options of LocalSandboxProvider."""

    isolation: Literal["bubblewrap", "none"] = Field(
        "bubblewrap",
        description="bubblewrap: each command is isolated; none: commands can do whatever the service can.",
    )
    python: Text | None = Field(
        None, description="Folder of the sandbox's own Python; null: the one created by make setup-sandbox."
    )


class ContainerOptions(LimitOptions):
    """Options of ContainerSandboxProvider."""

    command: Text | None = Field(
        None, description="Container engine with its options, such as podman --runtime runc; null: detected."
    )
    image: Text = Field(IMAGE, description="Container image; make setup-sandbox builds the default.")
    idle_seconds: Number = Field(
        600.0, gt=0, description="Seconds without a command after which a container is stopped."
    )


class RemoteOptions(EnvironmentOptions):
    """Options of RemoteSandboxProvider."""

    url: Url = Field(description="URL of the service that runs the commands.")
    token: Secret | None = Field(None, description="Token of the service, as $NAME.")
    timeout_seconds: Number = Field(
        30.0,
        gt=0,
        le=600,
        description="Seconds without data from the service before a call fails, even during a command.",
    )
    verify: Switch = Field(True, description="true: verify the service's certificate.")
    ca_file: Text | None = Field(
        None,
        description="File with the certificate authority that signed it; null: the system's authorities.",
    )
    seconds: Number = Field(
        120.0,
        gt=0,
        le=3_600,
        description="Time limit of a command in seconds; the service may set a lower one.",
    )
    disk_mb: Count = Field(2_000, description="Disk quota for a thread's folders in megabytes.")


OptionsT = TypeVar("OptionsT", bound=Section)


def read_options(kind: type[OptionsT], keys: Mapping[str, Any]) -> OptionsT:
    """Validate options. Raises SandboxUnavailable with the first invalid key."""
    try:
        return kind(**keys)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "?"
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            problem = unknown_key_message(name, list(kind.model_fields))
        raise SandboxUnavailable(f"sandbox.{name} in the configuration: {problem.rstrip('.')}.") from None


def load_provider(
    use: str, around: Surroundings, settings: Mapping[str, Any] | None = None
) -> SandboxProvider:
    """Create a provider of the class `package.module:Class`, using its `from_config` if present.

    Otherwise the class is called with these arguments. Raises SandboxUnavailable, without the values of
    settings.
    """
    module_name, _, class_name = use.partition(":")
    try:
        found = getattr(import_module(module_name), class_name)
    except ModuleNotFoundError as error:
        raise SandboxUnavailable(
            f"The sandbox {use} needs the module {error.name}, which is not installed."
        ) from error
    except AttributeError:
        raise SandboxUnavailable(f"{module_name} has no {class_name} (sandbox.use: {use}).") from None
    try:
        made = getattr(found, "from_config", found)(around, **(settings or {}))
    except (TypeError, ValueError) as error:
        kind = type(error).__name__
        raise SandboxUnavailable(f"The settings of the sandbox {use} are invalid ({kind}).") from error
    if lacking := [name for name in PROVIDER_METHODS if not callable(getattr(made, name, None))]:
        raise SandboxUnavailable(f"{use} is not a sandbox provider: it has no method {lacking[0]}.")
    provider: SandboxProvider = made
    return provider
