"""The pod of one thread, as Kubernetes takes it."""

from __future__ import annotations

import json
from typing import Any

from agent.sandbox.provisioner.options import POD_SLACK_MB, KubernetesOptions, PodOptions
from agent.sandbox.run_as import number_of
from agent.sandbox.warm_container import OLDEST

PREFIX = "roebot-sandbox-"
LABEL, APPLICATION = "app.kubernetes.io/name", "roebot-sandbox"
NAME_LABEL = "roebot/sandbox"
PORT = 2027
ADDRESS = "POD_IP"
"""The variable with the pod's own address, which may be of either family; Kubernetes puts it in."""
PYTHON = "/opt/roebot/bin/python"
"""In the image."""


def pod_name(name: str) -> str:
    """What the pod of a station is called."""
    return PREFIX + name


def pod(name: str, token: str, options: KubernetesOptions) -> dict[str, Any]:
    """The pod: `token` is what its own service wants to see.

    It runs as a user whose number no other pod has, since the kernel counts a user's processes on the whole
    node.
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
        "containers": [_container(name, token, options)],
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


def _container(name: str, token: str, options: KubernetesOptions) -> dict[str, Any]:
    told = options.model_dump(include=set(PodOptions.model_fields))
    resources = {
        "cpu": options.cpus,
        "memory": f"{options.memory_mb + POD_SLACK_MB}M",
        "ephemeral-storage": f"{options.disk_mb + 2 * POD_SLACK_MB}M",
    }
    words = ["-m", "agent.sandbox.provisioner", "--backend", "pod", "--host", f"$({ADDRESS})"]
    words += ["--port", str(PORT)]
    return {
        "name": "sandbox",
        "image": options.image,
        "command": [PYTHON, *words, "--idle-seconds", str(OLDEST), "--settings", json.dumps(told)],
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
