"""The backend of Kubernetes against an imitation of its API: no real cluster was ever asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from agent.core.interfaces import SandboxError, SandboxUnavailable
from roebot_provisioner import kubernetes as backend_module
from roebot_provisioner.cluster import Cluster, in_cluster
from roebot_provisioner.kubernetes import KubernetesBackend
from roebot_provisioner.pod_manifest import KubernetesOptions, make_pod, pod_name
from tests.sandbox.kubernetes import NAMESPACE, PENDING, READY, Imitation, failure, kubernetes
from tests.sandbox.provisioning import TOKEN, remote, serving
from tests.sandbox.sandbox_fixtures import one

OPTIONS = KubernetesOptions(memory_mb=300, disk_mb=40, seconds=20.0, processes=60, start_seconds=20.0)
PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Imitation]:
    (tmp_path / "cluster").mkdir()
    async with kubernetes(tmp_path / "cluster") as made:
        yield made


def backend(api: Imitation, *, secret: str = TOKEN, **options: Any) -> KubernetesBackend:
    async def sleep(_: float) -> None:
        await asyncio.sleep(0.01)

    wanted = OPTIONS.model_copy(update=options)
    return KubernetesBackend(api.cluster(), wanted, secret, port=api.port, sleep=sleep)


# --- from a home to a pod and back


async def test_a_command_runs_in_a_pod(tmp_path: Path, api: Imitation) -> None:
    """Roebot, the service and the pod's own service, one behind the other."""
    async with serving(backend(api)) as (url, stations):
        sandbox = await one(remote(tmp_path / "home", url))
        await sandbox.write_file("/mnt/user-data/uploads/a.txt", b"sent\n")
        result = await sandbox.execute_command("cat ../uploads/a.txt; echo made > ../outputs/o.txt; exit 3")
        assert (result.output, result.exit_code) == ("sent\n", 3)
        assert await sandbox.read_file("/mnt/user-data/outputs/o.txt") == b"made\n"
        assert (await sandbox.execute_command("sleep 30", seconds=0.5)).timed_out
        (name,) = api.pods
        assert name == pod_name(stations.names[0])
        assert api.methods() == ["GET", "POST", "GET"], "the API is asked for the pod's start alone"
    assert api.pods == {}
    assert api.asked[-1].method == "DELETE"


async def test_a_lost_pod_is_created_again(tmp_path: Path, api: Imitation) -> None:
    """Its node is gone, and the home's files are in the next one."""
    async with serving(backend(api)) as (url, _):
        sandbox = await one(remote(tmp_path / "home", url))
        await sandbox.execute_command("echo kept > kept")
        await api.stop()
        (name,) = api.pods
        api.pods[name]["status"] = {"phase": "Failed", "reason": "NodeLost"}
        assert (await sandbox.execute_command("cat kept")).output == "kept\n"
        assert len([asked for asked in api.asked if asked.method == "POST"]) == 2


async def test_a_pod_that_dies_in_mid_command(tmp_path: Path, api: Imitation) -> None:
    async with serving(backend(api)) as (url, _):
        sandbox = await one(remote(tmp_path / "home", url))
        running = asyncio.create_task(sandbox.execute_command("echo x > begun; sleep 30"))
        while not await asyncio.to_thread(lambda: list(api.root.rglob("begun"))):
            await asyncio.sleep(0.02)
        await api.stop()
        with pytest.raises(SandboxError, match="was lost"):
            await running


async def test_another_service_finds_its_pods(tmp_path: Path, api: Imitation) -> None:
    """By their label; with the same token it gets in, and the sandbox is warm still."""
    first = backend(api)
    station = await first.open("one", [])
    assert (await station.run("touch warm", None)).exit_code == 0
    async with serving(backend(api)) as (_, stations):
        assert stations.names == ["one"]
        await stations.open("one", [])
        async with stations.borrow("one") as found:
            assert (await found.run("ls", None)).output == "warm\n"
    with_another = backend(api, secret="another-secret-altogether")
    assert api.pods == {}
    await first.open("one", [])
    with pytest.raises(SandboxUnavailable, match="rejected the token"):
        await with_another.open("one", [])


async def test_a_station_without_its_pod(api: Imitation) -> None:
    station = await backend(api).open("one", ["/mnt/skills/public"])
    assert await station.is_alive()
    assert "/mnt/skills" not in str((await station.tree()).entries)
    await api.stop()
    assert not await station.is_alive()
    with pytest.raises(SandboxUnavailable, match="can't be reached"):
        await station.run("true", None)
    with pytest.raises(SandboxUnavailable):
        await station.tree()


# --- what is asked of the API


async def test_the_shape_of_the_requests(api: Imitation) -> None:
    made = backend(api)
    await made.open("one", [])
    await made.close("one")
    await made.close("one")
    await made.list_names()
    shapes = [(asked.method, asked.path, asked.query) for asked in api.asked]
    name = f"{PATH}/roebot-sandbox-one"
    assert shapes == [
        ("GET", name, {}),
        ("POST", PATH, {}),
        ("GET", name, {}),
        ("DELETE", name, {"gracePeriodSeconds": "0"}),
        ("DELETE", name, {"gracePeriodSeconds": "0"}),
        ("GET", PATH, {"labelSelector": "app.kubernetes.io/name=roebot-sandbox"}),
    ]


async def test_a_token_that_was_renewed_is_read_again(api: Imitation) -> None:
    made = backend(api)
    await made.list_names()
    api.token = "renewed"
    api.cluster()
    assert await made.list_names() == []


def test_a_pod_has_no_privileges() -> None:
    """What the standard `restricted` asks for, and more."""
    made = make_pod("one", "its-token", OPTIONS)
    assert made["apiVersion"] == "v1"
    assert made["kind"] == "Pod"
    spec = made["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == 12 * 3_600
    inside = spec["securityContext"]
    assert inside["runAsNonRoot"] is True
    assert inside["runAsUser"] == inside["runAsGroup"] == inside["fsGroup"] >= 1_900_000_000
    assert inside["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & set(spec)
    assert [set(volume) for volume in spec["volumes"]] == [{"name", "emptyDir"}] * 2
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/mnt", "/tmp"}


def test_a_pod_has_limits() -> None:
    """Above those that hold inside, so that these are met first."""
    (container,) = make_pod("one", "t", OPTIONS)["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "700M", "ephemeral-storage": "840M"}
    assert set(container["resources"]["requests"]) == set(container["resources"]["limits"])
    volumes = make_pod("one", "t", OPTIONS)["spec"]["volumes"]
    assert [volume["emptyDir"]["sizeLimit"] for volume in volumes] == ["440M", "256M"]


def test_pods_are_kept_apart() -> None:
    """By name, user and token."""
    first, second = make_pod("one", "a", OPTIONS), make_pod("two", "b", OPTIONS)
    for where in (
        lambda made: made["metadata"]["name"],
        lambda made: made["metadata"]["labels"]["roebot/sandbox"],
        lambda made: made["spec"]["securityContext"]["runAsUser"],
        lambda made: made["spec"]["containers"][0]["env"],
    ):
        assert where(first) != where(second)
    longest = "a" * 48
    assert len(pod_name(longest)) <= 63


def test_a_pod_may_have_a_runtime_class() -> None:
    assert "runtimeClassName" not in make_pod("one", "t", OPTIONS)["spec"]
    wanted = OPTIONS.model_copy(update={"runtime_class": "gvisor"})
    assert make_pod("one", "t", wanted)["spec"]["runtimeClassName"] == "gvisor"


async def test_each_pod_has_its_own_token(api: Imitation) -> None:
    """Neither the service's, nor another pod's."""
    api.status = READY
    made = backend(api)
    tokens = set()
    for name in ("one", "two"):
        with pytest.raises(SandboxUnavailable):
            await made.open(name, [])
        tokens.add(api.pods[pod_name(name)]["spec"]["containers"][0]["env"][0]["value"])
    assert len(tokens) == 2
    assert all(len(token) == 64 and TOKEN not in token for token in tokens)


# --- what goes wrong


@pytest.mark.parametrize("reason", sorted(backend_module.FATAL_REASONS))
async def test_a_pod_that_cannot_start_says_why(api: Imitation, reason: str) -> None:
    """At once, and nothing is left of it."""
    waiting = {"reason": reason, "message": "no such image"}
    api.status = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": waiting}}]}
    with pytest.raises(SandboxUnavailable, match=f"can't start: {reason}, no such image"):
        await backend(api).open("one", [])
    assert api.pods == {}


async def test_a_pod_without_a_node_says_why(api: Imitation) -> None:
    """When its time is up, and nothing is left of it."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    api.status = {"phase": "Pending", "conditions": [condition]}
    with pytest.raises(SandboxUnavailable, match=r"not ready within 0\.2 seconds: Unschedulable, 0/3 nodes"):
        await backend(api, start_seconds=0.2).open("one", [])
    assert api.pods == {}


async def test_a_pod_that_fails_again_and_again(api: Imitation) -> None:
    api.status = {"phase": "Failed", "reason": "Evicted", "message": "low on disk"}
    with pytest.raises(SandboxUnavailable, match=r"not ready within 1\.5 seconds: Evicted, low on disk"):
        await backend(api, start_seconds=1.5).open("one", [])
    assert len([asked for asked in api.asked if asked.method == "POST"]) > 1


@pytest.mark.parametrize(
    "status",
    [
        PENDING,
        {},
        {"phase": "Running"},
        {**READY, "podIP": None},
        {**READY, "conditions": [{"type": "Ready", "status": "False"}]},
        {**READY, "conditions": "none"},
    ],
)
async def test_a_pod_that_is_not_ready_is_waited_for(api: Imitation, status: dict[str, Any]) -> None:
    api.status = status or {"phase": "Pending"}
    with pytest.raises(SandboxUnavailable, match=r"not ready within 0\.1 seconds"):
        await backend(api, start_seconds=0.1).open("one", [])


async def test_a_terminating_pod_is_waited_for(api: Imitation) -> None:
    """One that ends is waited for, and then made anew."""
    made = backend(api)
    await made.open("one", [])
    api.lingering = 3
    await made.close("one")
    assert len(api.pods) == 1
    assert await (await made.open("one", [])).is_alive()
    assert api.lingering < 0


async def test_a_pod_created_meanwhile_is_used(api: Imitation) -> None:
    """Two requests at once make one."""
    made = backend(api)
    api.status = READY
    assert await made._cluster.create(make_pod("one", "t", OPTIONS))
    assert not await made._cluster.create(make_pod("one", "t", OPTIONS))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            failure(403, 'pods is forbidden: User "x" cannot'),
            "is not allowed to get pods in the namespace sandboxes: pods is",
        ),
        (failure(401, ""), "is not allowed to get pods in the namespace sandboxes: no reason was given"),
        (failure(500, "etcd is away"), "returned 500: etcd is away"),
        (PlainTextResponse("<html>", 502), "returned 502: no reason"),
        (PlainTextResponse("fine"), "returned 200: no reason"),
    ],
)
async def test_refusals_of_the_api_are_reported(api: Imitation, answer: Any, why: str) -> None:
    api.refuse = answer
    with pytest.raises(SandboxUnavailable, match=why):
        await backend(api).open("one", [])


async def test_an_unreachable_api_is_reported(tmp_path: Path, api: Imitation) -> None:
    (tmp_path / "token").write_text("x")
    away = Cluster(f"http://127.0.0.1:{api.port}", NAMESPACE, tmp_path / "token", verify=False)
    with pytest.raises(SandboxUnavailable, match="API can't be reached"):
        await away.list("x=y")


async def test_a_pod_may_have_an_ipv6_address(api: Imitation) -> None:
    api.status = {**READY, "podIP": "::1"}
    with pytest.raises(SandboxUnavailable, match=rf"http://\[::1\]:{api.port}"):
        await backend(api).open("one", [])


async def test_an_invalid_list_is_empty(api: Imitation) -> None:
    for items in (None, [], "none", [1, {}, {"metadata": {"labels": {"roebot/sandbox": 1}}}]):
        api.refuse = JSONResponse({"kind": "PodList", "items": items})
        assert await backend(api).list_names() == []


# --- in a cluster


def account(folder: Path) -> Path:
    """What a pod finds of its service account; the certificate is any."""
    folder.mkdir()
    (folder / "token").write_text("t\n")
    (folder / "namespace").write_text("here")
    (folder / "ca.crt").write_bytes(Path(certifi.where()).read_bytes())
    return folder


@pytest.mark.may_block
@pytest.mark.parametrize(("host", "shown"), [("10.0.0.1", "10.0.0.1"), ("fd00::1", "[fd00::1]")])
def test_the_cluster_is_read_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, shown: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    found = in_cluster(account=account(tmp_path / "account"))
    assert (found.url, found.namespace) == (f"https://{shown}:6443", "here")
    assert found.token_file == tmp_path / "account" / "token"
    assert in_cluster("elsewhere", account=tmp_path / "account").namespace == "elsewhere"


@pytest.mark.may_block
@pytest.mark.parametrize("missing", ["token", "namespace", "ca.crt"])
def test_a_missing_account_file_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    folder = account(tmp_path / "account")
    (folder / missing).unlink()
    with pytest.raises(SandboxUnavailable, match=missing):
        in_cluster(account=folder)


def test_running_outside_a_cluster_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SandboxUnavailable, match="does not run in a Kubernetes pod"):
        in_cluster()
