"""What the backends of the service are told: the settings of `--config` and `--settings`."""

from __future__ import annotations

from pydantic import Field

from agent.config.types import Number, Text
from agent.sandbox.options import CommandLimits

IMAGE = "roebot-sandbox-pod"
POD_SLACK_MB = 400
"""What a pod has above its commands' memory: this service's own, and `/tmp`."""


class PodOptions(CommandLimits):
    """Limits of commands in a pod."""


class KubernetesOptions(PodOptions):
    """The pods and where they are. All but the limits is for the service before them."""

    image: Text = Field(IMAGE, description="The image of the pods; see deploy/sandbox/kubernetes.")
    namespace: Text | None = Field(None, description="The pods' namespace; null: the service's own.")
    cpus: Text = Field("1", description="The processors of a pod, as Kubernetes writes it.")
    runtime_class: Text | None = Field(None, description="The runtime class of the pods, such as gvisor.")
    start_seconds: Number = Field(120.0, gt=0, le=280, description="Seconds in which a pod has to be ready.")
