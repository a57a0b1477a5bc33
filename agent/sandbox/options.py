"""The further keys of the section `sandbox`, which belong to its provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from agent.config.reader import unknown_key_message
from agent.config.types import Count, Number, Secret, Section, Switch, Text, Url
from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.limits import SandboxLimits

if TYPE_CHECKING:
    from agent.core.state import ThreadData

IMAGE = "localhost/roebot-sandbox"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a provider works: the folders of a thread, the home, and what every thread may read."""

    folders: Callable[[str], ThreadData]
    home: Path
    read_only: Mapping[str, Path] = field(default_factory=dict)


class CommandLimits(Section):
    """What commands may use, wherever they run."""

    seconds: Number = Field(120.0, gt=0, le=3_600, description="Seconds that a command may take.")
    memory_mb: Count = Field(2_000, description="Megabytes of memory that a command may use.")
    processes: Count = Field(256, description="Processes and threads of a command at once.")
    disk_mb: Count = Field(2_000, description="Megabytes that the folders of a thread may hold.")

    def limits(self) -> SandboxLimits:
        """As the sandbox takes them."""
        return SandboxLimits(
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            processes=self.processes,
            disk_mb=self.disk_mb,
        )


class LimitOptions(CommandLimits):
    """What every sandbox on this host's disk keeps."""

    network: Switch = Field(
        False, description="Whether commands reach the network, this host's own included."
    )


class LocalOptions(LimitOptions):
    """The keys of LocalSandboxProvider."""

    isolation: Literal["bubblewrap", "none"] = Field(
        "bubblewrap",
        description="bubblewrap: each command alone; none: commands can do what the service can.",
    )
    python: Text | None = Field(
        None, description="The folder of the sandbox's own Python; null: what make setup-sandbox made."
    )


class ContainerOptions(LimitOptions):
    """The keys of ContainerSandboxProvider."""

    command: Text | None = Field(
        None, description="The engine with its options, such as podman --runtime runc; null: what is found."
    )
    image: Text = Field(IMAGE, description="The image; make setup-sandbox builds this one.")
    idle_seconds: Number = Field(600.0, gt=0, description="Seconds without a command after which one goes.")


class RemoteOptions(Section):
    """The keys of RemoteSandboxProvider."""

    url: Url = Field(description="The address of the service that runs the commands.")
    token: Secret | None = Field(None, description="What the service wants to see, as $NAME.")
    timeout_seconds: Number = Field(
        30.0, gt=0, le=600, description="Seconds that the service may say nothing, also while a command runs."
    )
    verify: Switch = Field(True, description="Whether the service's certificate is checked.")
    ca_file: Text | None = Field(
        None, description="A file with the authority that signed it; null: the system's authorities."
    )
    seconds: Number = Field(
        120.0, gt=0, le=3_600, description="Seconds that a command may take; the service may allow fewer."
    )
    disk_mb: Count = Field(2_000, description="Megabytes that the folders of a thread may hold.")


OptionsT = TypeVar("OptionsT", bound=Section)


def read_options(kind: type[OptionsT], keys: Mapping[str, Any]) -> OptionsT:
    """The keys, checked. Raises SandboxUnavailable, which names the first that is wrong."""
    try:
        return kind(**keys)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "?"
        said = first["msg"]
        if first["type"] == "extra_forbidden":
            said = unknown_key_message(name, list(kind.model_fields))
        raise SandboxUnavailable(f"sandbox.{name} in the configuration: {said.rstrip('.')}.") from None
