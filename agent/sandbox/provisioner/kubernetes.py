"""Stations in Kubernetes: a pod for each thread, in which this same service runs with the backend `pod`."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

from agent.core.interfaces import CommandResult, SandboxUnavailable
from agent.sandbox.provisioner.cluster import Cluster
from agent.sandbox.provisioner.file_listing import Tree
from agent.sandbox.provisioner.http_client import Address, FarStation
from agent.sandbox.provisioner.options import KubernetesOptions
from agent.sandbox.provisioner.pods import APPLICATION, LABEL, NAME_LABEL, PORT, pod, pod_name

SAID = 200
ASKING = 0.5
"""Seconds between two looks at a pod that starts."""
LOST = frozenset(
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
"""Why a container waits that won't start by waiting."""
OVER = frozenset({"Failed", "Succeeded"})


class PodStation:
    """The station in a pod, over HTTP. See `Station`."""

    def __init__(self, address: Address, name: str) -> None:
        self._address, self._name = address, name

    async def there(self) -> bool:
        """See `Station`."""
        async with self._address.client() as client:
            return await FarStation(client, self._name).there()

    async def tree(self) -> Tree:
        """See `Station`."""
        async with self._address.client() as client:
            return await FarStation(client, self._name).tree()

    async def push(self, frames: AsyncIterator[bytes]) -> Sequence[str]:
        """See `Station`."""
        async with self._address.client() as client:
            return await FarStation(client, self._name).push(frames)

    async def pull(self, paths: Sequence[str]) -> AsyncGenerator[bytes, None]:
        """See `Station`."""
        async with (
            self._address.client() as client,
            aclosing(FarStation(client, self._name).pull(paths)) as pieces,
        ):
            async for piece in pieces:
                yield piece

    async def run(self, command: str, seconds: float | None) -> CommandResult:
        """See `Station`."""
        async with self._address.client() as client:
            return await FarStation(client, self._name).run(command, seconds)


class KubernetesBackend:
    """A pod for each station. See `Backend`.

    `secret` is what the pods' own tokens are made of: with one of them nobody gets into another pod. `sleep`
    is in seconds; `port` is where the pods listen.
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

    async def open(self, name: str, read_only: Sequence[str]) -> PodStation:
        """See `Backend`."""
        seen: list[str] = []
        try:
            async with asyncio.timeout(self._options.start_seconds):
                ip = await self._ready(name, seen)
        except TimeoutError:
            # One that waits for a place would be left behind.
            await self._cluster.delete(pod_name(name))
            why = f": {seen[-1]}" if seen else ""
            raise SandboxUnavailable(
                f"The sandbox's pod was not ready within {self._options.start_seconds:g} seconds{why}."
            ) from None
        shown = f"[{ip}]" if ":" in ip else ip
        address = Address(f"http://{shown}:{self._port}", self._token(name))
        async with address.client() as client:
            await FarStation(client, name).open(read_only)
        return PodStation(address, name)

    async def close(self, name: str) -> None:
        """See `Backend`."""
        await self._cluster.delete(pod_name(name))

    async def known(self) -> Sequence[str]:
        """See `Backend`."""
        found = await self._cluster.list(f"{LABEL}={APPLICATION}")
        names = [_at(one, "metadata", "labels", NAME_LABEL) for one in found]
        return [name for name in names if isinstance(name, str)]

    async def _ready(self, name: str, seen: list[str]) -> str:
        """The address of the pod, made where it is not there; `seen` gets what keeps it, in words.

        Raises SandboxUnavailable where it won't come up.
        """
        while True:
            found = await self._cluster.get(pod_name(name))
            if found is None:
                await self._cluster.create(pod(name, self._token(name), self._options))
            elif _at(found, "metadata", "deletionTimestamp"):
                # Its name is free when it is gone.
                pass
            elif _at(found, "status", "phase") in OVER:
                seen.append(_format_reason(_at(found, "status")))
                await self._cluster.delete(pod_name(name))
            elif why := _lost(found):
                await self._cluster.delete(pod_name(name))
                raise SandboxUnavailable(f"The sandbox's pod can't start: {why}.")
            elif (ip := _at(found, "status", "podIP")) and _is_ready(found):
                return str(ip)
            else:
                seen += [_format_reason(one) for one in _conditions(found) if _at(one, "status") == "False"][
                    :1
                ]
            await self._sleep(ASKING)

    def _token(self, name: str) -> str:
        return hmac.digest(self._secret, name.encode(), "sha256").hex()


def _at(found: object, *path: str) -> Any:
    """What is at a path of an object; None where nothing is."""
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _is_ready(found: object) -> bool:
    return any(_at(one, "type") == "Ready" and _at(one, "status") == "True" for one in _conditions(found))


def _conditions(found: object) -> Sequence[object]:
    given = _at(found, "status", "conditions")
    return given if isinstance(given, list) else []


def _format_reason(found: object) -> str:
    """The reason that an object gives, and its message."""
    given = [str(_at(found, key))[:SAID] for key in ("reason", "message") if _at(found, key)]
    return ", ".join(given) or "no reason was given"


def _lost(found: object) -> str:
    """Why a pod won't start, in words; empty while it may."""
    for one in _at(found, "status", "containerStatuses") or []:
        if _at(one, "state", "waiting", "reason") in LOST:
            return _format_reason(_at(one, "state", "waiting"))
    return ""
