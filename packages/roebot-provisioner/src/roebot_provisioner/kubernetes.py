"""Stations in Kubernetes, with a pod per thread that runs this service with the backend `pod`."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.remote_station import RemoteStation, ServiceAddress
from agent.shared.public_address import resolve_host
from roebot_provisioner.cluster import Cluster
from roebot_provisioner.pod_manifest import (
    APPLICATION,
    LABEL,
    NAME_LABEL,
    PORT,
    KubernetesOptions,
    make_pod,
    pod_name,
)

REASON_LENGTH = 200
POLL_SECONDS = 0.5
"""Seconds between two reads of a pod that starts."""
FATAL_REASONS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
"""Reasons of a waiting container that will not start."""
ENDED_PHASES = frozenset({"Failed", "Succeeded"})


class KubernetesBackend:
    """A `Backend` with a pod per station, which listens on `port`.

    Each pod has its own token, derived from `secret`, so a pod's token opens no other pod. `sleep` is in
    seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: KubernetesOptions,
        secret: str,
        *,
        port: int = PORT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._cluster, self._options, self._secret = cluster, options, secret.encode()
        self._port, self._sleep = port, sleep

    async def open(self, name: str, read_only: Sequence[str]) -> RemoteStation:
        seen: list[str] = []
        try:
            async with asyncio.timeout(self._options.start_seconds):
                ip = await self._wait_until_ready(name, seen)
        except TimeoutError:
            # A pod that waits for a node would be left behind.
            await self._cluster.delete(pod_name(name))
            why = f": {seen[-1]}" if seen else ""
            raise SandboxUnavailable(
                f"The sandbox's pod was not ready within {self._options.start_seconds:g} seconds{why}."
            ) from None
        host = f"[{ip}]" if ":" in ip else ip
        address = ServiceAddress(f"http://{host}:{self._port}", self._token(name))
        station = RemoteStation(address.client, name)
        await station.open(read_only)
        return station

    async def close(self, name: str) -> None:
        await self._cluster.delete(pod_name(name))

    async def list_names(self) -> Sequence[str]:
        found = await self._cluster.list(f"{LABEL}={APPLICATION}")
        names = [_at(one, "metadata", "labels", NAME_LABEL) for one in found]
        return [name for name in names if isinstance(name, str)]

    async def _wait_until_ready(self, name: str, seen: list[str]) -> str:
        """Create the pod unless it exists, and return its IP address once it is ready.

        Reasons for which it is not ready are added to `seen`. Raises SandboxUnavailable if it can't start.
        """
        while True:
            found = await self._cluster.get(pod_name(name))
            if found is None:
                options = await _resolve_proxy(self._options)
                await self._cluster.create(make_pod(name, self._token(name), options))
            elif _at(found, "metadata", "deletionTimestamp"):
                # The name can be used again once the pod is gone.
                pass
            elif _at(found, "status", "phase") in ENDED_PHASES:
                seen.append(_format_reason(_at(found, "status")))
                await self._cluster.delete(pod_name(name))
            elif why := _find_fatal_reason(found):
                await self._cluster.delete(pod_name(name))
                raise SandboxUnavailable(f"The sandbox's pod can't start: {why}.")
            elif (ip := _at(found, "status", "podIP")) and _is_ready(found):
                return str(ip)
            else:
                unmet = [one for one in _conditions(found) if _at(one, "status") == "False"]
                seen += map(_format_reason, unmet[:1])
            await self._sleep(POLL_SECONDS)

    def _token(self, name: str) -> str:
        return hmac.digest(self._secret, name.encode(), "sha256").hex()


async def _resolve_proxy(options: KubernetesOptions) -> KubernetesOptions:
    """Return the options with the proxy's address, because pods can't resolve its name.

    Raises SandboxUnavailable.
    """
    if options.proxy is None:
        return options
    url = urlsplit(options.proxy)
    port = url.port or 80
    try:
        addresses = await resolve_host(url.hostname or "", port)
    except OSError:
        raise SandboxUnavailable(f"The egress proxy {options.proxy} was not found.") from None
    host = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    return options.model_copy(update={"proxy": f"http://{host}:{port}"})


def _at(found: object, *path: str) -> Any:
    """Return the value at a path of nested objects, or None if there is none."""
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _is_ready(found: object) -> bool:
    return any(_at(one, "type") == "Ready" and _at(one, "status") == "True" for one in _conditions(found))


def _conditions(found: object) -> Sequence[object]:
    conditions = _at(found, "status", "conditions")
    return conditions if isinstance(conditions, list) else []


def _format_reason(found: object) -> str:
    parts = [str(_at(found, key))[:REASON_LENGTH] for key in ("reason", "message") if _at(found, key)]
    return ", ".join(parts) or "no reason was given"


def _find_fatal_reason(found: object) -> str:
    """Return why a pod can't start, or "" while it still may."""
    for one in _at(found, "status", "containerStatuses") or []:
        if _at(one, "state", "waiting", "reason") in FATAL_REASONS:
            return _format_reason(_at(one, "state", "waiting"))
    return ""
