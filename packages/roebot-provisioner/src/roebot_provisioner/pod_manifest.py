"""Manifest of a thread's pod, and its options."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from agent.config.types import Number, Text, Url
from agent.sandbox.options import CommandLimits
from agent.sandbox.run_as import number_of
from agent.sandbox.warm_container import OLDEST

PREFIX = "roebot-sandbox-"
LABEL, APPLICATION = "app.kubernetes.io/name", "roebot-sandbox"
NAME_LABEL = "roebot/sandbox"
PORT = 2027
ADDRESS = "POD_IP"
"""Variable that Kubernetes sets to the pod's own address, IPv4 or IPv6."""
PYTHON = "/opt/roebot/bin/python"
"""Path in the image."""
IMAGE = "roebot-sandbox-pod"
POD_SLACK_MB = 400
"""Memory and disk of a pod in addition to its commands' limits, for this service and `/tmp`."""


class PodOptions(CommandLimits):
    """Limits of commands in a pod, and their network access."""

    proxy: Url | None = Field(
        None,
        description="URL of the egress proxy (see deploy/sandbox/kubernetes/egress.yaml); null: no network.",
    )


class KubernetesOptions(PodOptions):
    """Pods and their limits. Only the limits and the proxy are passed to the service in the pod."""

    image: Text = Field(IMAGE, description="Container image for the pods; see deploy/sandbox/kubernetes.")
    namespace: Text | None = Field(None, description="Namespace of the pods; null: the service's own.")
    cpus: Text = Field("1", description="CPUs per pod, in Kubernetes notation.")
    runtime_class: Text | None = Field(None, description="Runtime class of the pods, such as gvisor.")
    start_seconds: Number = Field(
        120.0, gt=0, le=280, description="Time limit for a pod to become ready in seconds."
    )


def pod_name(name: str) -> str:
    """Return the name of a station's pod."""
    return PREFIX + name


def make_pod(name: str, token: str, options: KubernetesOptions) -> dict[str, Any]:
    """Return the manifest of a station's pod, whose service requires `token`.

    It runs with a user id that no other pod has, since the kernel counts a user's processes per node.
    """
    user = number_of(name)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "activeDeadlineSeconds": OLDEST,
        "terminationGracePeriodSeconds": 1,
        "hostname": "sandbox",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "fsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_make_container(name, token, options)],
        "volumes": [
            {"name": "files", "emptyDir": {"sizeLimit": f"{options.disk_mb + POD_SLACK_MB}M"}},
            {"name": "scratch", "emptyDir": {"sizeLimit": f"{options.limits().scratch_mb}M"}},
        ],
    }
    if options.runtime_class:
        spec["runtimeClassName"] = options.runtime_class
    labels = {LABEL: APPLICATION, NAME_LABEL: name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name(name), "labels": labels},
        "spec": spec,
    }


def _make_container(name: str, token: str, options: KubernetesOptions) -> dict[str, Any]:
    limits = options.model_dump(include=set(PodOptions.model_fields))
    resources = {
        "cpu": options.cpus,
        "memory": f"{options.memory_mb + POD_SLACK_MB}M",
        "ephemeral-storage": f"{options.disk_mb + 2 * POD_SLACK_MB}M",
    }
    words = ["-m", "roebot_provisioner", "--backend", "pod", "--host", f"$({ADDRESS})"]
    words += ["--port", str(PORT)]
    return {
        "name": "sandbox",
        "image": options.image,
        "command": [PYTHON, *words, "--idle-seconds", str(OLDEST), "--settings", json.dumps(limits)],
        "env": [
            {"name": "ROEBOT_SANDBOX_TOKEN", "value": token},
            {"name": ADDRESS, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "ports": [{"name": "http", "containerPort": PORT}],
        "resources": {"limits": resources, "requests": {**resources, "cpu": "100m", "memory": "256M"}},
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "files", "mountPath": "/mnt"},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - the pod's own
        ],
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": PORT},
            "periodSeconds": 1,
            "failureThreshold": 120,
        },
    }
