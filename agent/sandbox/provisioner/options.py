"""What the backends of the service are told: the settings of `--config` and `--settings`."""

from __future__ import annotations

from pydantic import Field

from agent.config.fields import Count, Number, Section, Text
from agent.sandbox.limits import SandboxLimits

IMAGE = "roebot-sandbox-pod"
POD_SLACK_MB = 400
"""What a pod has above its commands' memory: this service's own, and `/tmp`."""


class PodOptions(Section):
    """Limits of commands in a pod."""

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


class KubernetesOptions(PodOptions):
    """The pods and where they are. All but the limits is for the service before them."""

    image: Text = Field(IMAGE, description="The image of the pods; see deploy/sandbox/kubernetes.")
    namespace: Text | None = Field(None, description="The pods' namespace; null: the service's own.")
    cpus: Text = Field("1", description="The processors of a pod, as Kubernetes writes it.")
    runtime_class: Text | None = Field(None, description="The runtime class of the pods, such as gvisor.")
    start_seconds: Number = Field(120.0, gt=0, le=280, description="Seconds in which a pod has to be ready.")
