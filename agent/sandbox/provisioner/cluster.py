"""The four calls of the Kubernetes API that the service makes, as its service account."""

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

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS = 30.0
SAID = 300
VERBS: Mapping[str, str] = {"GET": "get", "POST": "create", "DELETE": "delete", "LIST": "list"}
"""What the service's role has to allow for pods, by what is called."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the API is: `url` without a slash at the end. The file with the token is read for each call,
    since the cluster writes a new one every hour.
    """

    url: str
    namespace: str
    token_file: Path
    verify: ssl.SSLContext | bool = True

    async def get(self, name: str) -> dict[str, Any] | None:
        """A pod; None where it is not there. Raises SandboxUnavailable, as all do."""
        return await self._call("GET", f"/{name}", missing=404)

    async def create(self, pod: Mapping[str, Any]) -> bool:
        """Make a pod; False where one of its name is there."""
        return await self._call("POST", "", missing=409, json=pod) is not None

    async def delete(self, name: str) -> None:
        """End a pod at once; one that is not there is no error."""
        await self._call("DELETE", f"/{name}", missing=404, params={"gracePeriodSeconds": "0"})

    async def list(self, selector: str) -> Sequence[dict[str, Any]]:
        """The pods with a label."""
        found = await self._call("LIST", "", params={"labelSelector": selector}) or {}
        items = found.get("items")
        return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []

    async def _call(
        self, method: str, path: str, *, missing: int | None = None, **given: Any
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
                response = await client.request("GET" if method == "LIST" else method, url, **given)
        except httpx.HTTPError as error:
            why = str(error)[:SAID] or type(error).__name__
            raise SandboxUnavailable(f"The cluster's API can't be reached: {why}.") from error
        if response.status_code == missing:
            return None
        return self._good(method, response)

    def _good(self, method: str, response: httpx.Response) -> dict[str, Any]:
        try:
            found = response.json()
        except ValueError:
            found = None
        if response.is_success and isinstance(found, dict):
            return found
        said = str(found.get("message", ""))[:SAID] if isinstance(found, dict) else ""
        if response.status_code in {401, 403}:
            raise SandboxUnavailable(
                f"The service account may not {VERBS[method]} pods in the namespace {self.namespace}: "
                f"{said or 'no reason was given'}."
            )
        raise SandboxUnavailable(f"The cluster's API answered {response.status_code}: {said or 'no reason'}.")


def in_cluster(namespace: str | None = None, *, account: Path = ACCOUNT) -> Cluster:
    """The cluster that this service runs in. Raises SandboxUnavailable outside of one. Blocking."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise SandboxUnavailable("This is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set.")
    _read(account / "token")
    own = namespace or _read(account / "namespace")
    try:
        context = ssl.create_default_context(cafile=account / "ca.crt")
    except OSError as error:
        raise SandboxUnavailable(f"The cluster's ca.crt can't be used: {error.strerror}.") from None
    shown = f"[{host}]" if ":" in host else host
    return Cluster(f"https://{shown}:{port}", own, account / "token", context)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SandboxUnavailable(
            f"The service account's {file.name} can't be read: {error.strerror}. "
            "Does the pod of this service have its account (automountServiceAccountToken)?"
        ) from None
