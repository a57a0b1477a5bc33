"""A small imitation of the Kubernetes API: pods, and a node that runs one of them in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from roebot_provisioner.cluster import Cluster
from roebot_provisioner.pod_manifest import PodOptions
from roebot_provisioner.pod_sandbox import PodBackend
from tests.harness.free_ports import free_port
from tests.sandbox.provisioning import listening, serving

ACCOUNT_TOKEN = "the-account's-token"
NAMESPACE = "sandboxes"
READY = {
    "phase": "Running",
    "podIP": "127.0.0.1",
    "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
}
PENDING = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    body: Any = None


@dataclass
class Imitation:
    """Its pods by name. `refuse` answers every request instead. `status` is what new pods have, where the
    node does not run them: it does where `status` is None.
    """

    root: Path
    port: int
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    refuse: Response | None = None
    status: dict[str, Any] | None = None
    lingering: int = 0
    """How often a deleted pod is still seen."""
    token: str = ACCOUNT_TOKEN
    node: AsyncExitStack = field(default_factory=AsyncExitStack)
    url: str = ""

    def cluster(self) -> Cluster:
        """As a service account sees it."""
        file = self.root / "token"
        file.write_text(f"{self.token}\n")
        return Cluster(self.url, NAMESPACE, file, verify=False)

    def methods(self) -> list[str]:
        """The kinds of the requests, in order, each kind of a run once."""
        kinds = [one.method for one in self.asked]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    async def listed(self, request: Request) -> Response:
        if (refused := await self._noted(request)) is not None:
            return refused
        key, _, value = request.query_params["labelSelector"].partition("=")
        found = [pod for pod in self.pods.values() if pod["metadata"]["labels"].get(key) == value]
        return JSONResponse({"kind": "PodList", "items": found})

    async def create(self, request: Request) -> Response:
        if (refused := await self._noted(request)) is not None:
            return refused
        pod = self.asked[-1].body
        name = pod["metadata"]["name"]
        if name in self.pods:
            return failure(409, f'pods "{name}" already exists')
        self.pods[name] = {**pod, "status": self.status or PENDING}
        if self.status is None:
            await self._run(pod)
            self.pods[name]["status"] = READY
        return JSONResponse(self.pods[name], 201)

    async def get(self, request: Request) -> Response:
        if (refused := await self._noted(request)) is not None:
            return refused
        name = request.path_params["name"]
        pod = self.pods.get(name)
        if pod is not None and pod["metadata"].get("deletionTimestamp"):
            self.lingering -= 1
            if self.lingering < 0:
                del self.pods[name]
                pod = None
        return JSONResponse(pod) if pod else failure(404, f'pods "{name}" not found')

    async def delete(self, request: Request) -> Response:
        if (refused := await self._noted(request)) is not None:
            return refused
        name = request.path_params["name"]
        if name not in self.pods:
            return failure(404, f'pods "{name}" not found')
        await self.stop()
        pod = self.pods[name] if self.lingering else self.pods.pop(name)
        pod["metadata"]["deletionTimestamp"] = "2026-11-22T00:00:00Z"
        return JSONResponse(pod)

    async def stop(self) -> None:
        """The node ends what it runs."""
        await self.node.aclose()

    async def _run(self, pod: dict[str, Any]) -> None:
        """As the pod's container would be run: with its command's settings and its environment."""
        container = pod["spec"]["containers"][0]
        words = container["command"]
        settings = PodOptions(**json.loads(words[words.index("--settings") + 1]))
        environment = {one["name"]: one.get("value") for one in container["env"]}
        root = self.root / pod["metadata"]["name"]
        backend = PodBackend(settings.limits(), root=root, proxy=settings.proxy)
        running = serving(backend, token=environment["ROEBOT_SANDBOX_TOKEN"], port=self.port)
        await self.node.enter_async_context(running)

    async def _noted(self, request: Request) -> Response | None:
        body = await request.body()
        asked = Asked(
            request.method, request.url.path, dict(request.query_params), json.loads(body or b"null")
        )
        self.asked.append(asked)
        if self.refuse is not None:
            return self.refuse
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return failure(401, "Unauthorized")
        return None


def failure(status: int, message: str) -> Response:
    """As the API says that something failed."""
    return JSONResponse({"kind": "Status", "status": "Failure", "message": message, "code": status}, status)


@asynccontextmanager
async def kubernetes(root: Path) -> AsyncIterator[Imitation]:
    """It runs; `port` is where its node lets pods listen."""
    made = Imitation(root, free_port())
    base = f"/api/v1/namespaces/{NAMESPACE}/pods"
    routes = [
        Route(base, made.listed),
        Route(base, made.create, methods=["POST"]),
        Route(f"{base}/{{name}}", made.get),
        Route(f"{base}/{{name}}", made.delete, methods=["DELETE"]),
    ]
    async with listening(Starlette(routes=routes)) as url:
        made.url = url
        try:
            yield made
        finally:
            await made.stop()
