"""The four Kubernetes API calls of the service, with its service account's permissions."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from agent.core.interfaces import SandboxUnavailable
from agent.shared.tls import private_tls_context

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS = 30.0
MESSAGE_LENGTH = 300
VERBS: Mapping[str, str] = {"GET": "get", "POST": "create", "DELETE": "delete", "LIST": "list"}
"""Verbs that the service's role has to allow on pods, by call."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The pods of a namespace; `url` has no trailing slash. Every method raises SandboxUnavailable.

    The token file is read for each call, since the cluster writes a new token every hour.
    """

    url: str
    namespace: str
    token_file: Path
    verify: ssl.SSLContext | bool = True

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return a pod, or None if it does not exist."""
        return await self._call("GET", f"/{name}", missing=404)

    async def create(self, pod: Mapping[str, Any]) -> bool:
        """Create a pod; return False if its name is in use."""
        return await self._call("POST", "", missing=409, json=pod) is not None

    async def delete(self, name: str) -> None:
        """Delete a pod immediately, ignoring an unknown one."""
        await self._call("DELETE", f"/{name}", missing=404, params={"gracePeriodSeconds": "0"})

    async def list(self, selector: str) -> Sequence[dict[str, Any]]:
        """Return the pods matching a label selector."""
        found = await self._call("LIST", "", params={"labelSelector": selector}) or {}
        items = found.get("items")
        return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []

    async def _call(
        self, method: str, path: str, *, missing: int | None = None, **options: Any
    ) -> dict[str, Any] | None:
        token = await asyncio.to_thread(_read, self.token_file)
        url = f"{self.url}/api/v1/namespaces/{self.namespace}/pods{path}"
        try:
            async with httpx.AsyncClient(
                verify=self.verify,
                timeout=SECONDS,
                trust_env=False,
                headers={"authorization": f"Bearer {token}"},
            ) as client:
                response = await client.request("GET" if method == "LIST" else method, url, **options)
        except httpx.HTTPError as error:
            why = str(error)[:MESSAGE_LENGTH] or type(error).__name__
            raise SandboxUnavailable(f"The cluster's API can't be reached: {why}.") from error
        if response.status_code == missing:
            return None
        return self._parse_response(method, response)

    def _parse_response(self, method: str, response: httpx.Response) -> dict[str, Any]:
        try:
            found = response.json()
        except ValueError:
            found = None
        if response.is_success and isinstance(found, dict):
            return found
        reason = str(found.get("message", ""))[:MESSAGE_LENGTH] if isinstance(found, dict) else ""
        if response.status_code in {401, 403}:
            raise SandboxUnavailable(
                f"The service account is not allowed to {VERBS[method]} pods in the namespace "
                f"{self.namespace}: {reason or 'no reason was given'}."
            )
        raise SandboxUnavailable(
            f"The cluster's API returned {response.status_code}: {reason or 'no reason was given'}."
        )


def in_cluster(namespace: str | None = None, *, account: Path = ACCOUNT) -> Cluster:
    """Return this service's cluster. Raises SandboxUnavailable outside a cluster. Blocks."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise SandboxUnavailable(
            "The service does not run in a Kubernetes pod: KUBERNETES_SERVICE_HOST is not set."
        )
    _read(account / "token")
    own = namespace or _read(account / "namespace")
    try:
        context = private_tls_context(account / "ca.crt")
    except OSError as error:
        raise SandboxUnavailable(f"The cluster's ca.crt can't be loaded: {error.strerror}.") from None
    host = f"[{host}]" if ":" in host else host
    return Cluster(f"https://{host}:{port}", own, account / "token", context)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SandboxUnavailable(
            f"The service account's {file.name} can't be read: {error.strerror}. "
            "Check automountServiceAccountToken in the configuration of this service's pod."
        ) from None
