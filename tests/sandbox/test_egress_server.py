"""The egress proxy as a service, and the pods that use it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
import structlog

from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.egress.__main__ import main
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.egress.server import EgressServer
from agent.sandbox.options import SandboxLimits
from roebot_provisioner.pod_sandbox import PodBackend
from roebot_testing.agent.conformance.attacks_egress import open_site
from tests.sandbox.kubernetes import kubernetes
from tests.sandbox.test_kubernetes import backend


async def ask(port: int, target: str, own: str = "127.0.0.1") -> bytes:
    """What is answered to a request from an address of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(own, 0))
    writer.write(f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_each_address_is_a_sandbox_of_its_own() -> None:
    with structlog.testing.capture_logs() as logs:
        async with open_site() as site, EgressServer(EgressProxy(site.rules)).listen("127.0.0.1", 0) as port:
            first = await ask(port, f"open.test:{site.port}")
            second = await ask(port, f"loopback.test:{site.port}", "127.0.0.3")
            while len(logs) < 2:
                await asyncio.sleep(0.01)
    assert first.endswith(b"public")
    assert second.startswith(b"HTTP/1.1 403 loopback.test is not on the public internet\r\n")
    found = {line["sandbox"]: (line["received"], line["refused"]) for line in logs}
    assert found == {"127.0.0.1": (6, []), "127.0.0.3": (0, ["loopback.test is not on the public internet"])}


async def test_it_runs_as_a_program_until_a_signal() -> None:
    words = [sys.executable, "-m", "agent.sandbox.egress", "--port", "0", "--allow", "open.test"]
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    assert line.startswith("roebot egress: ready at 127.0.0.1:")
    answer = await ask(int(line.rpartition(":")[2]), "other.test")
    assert answer.startswith(b"HTTP/1.1 403 other.test is not an allowed host\r\n")
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


def test_a_wrong_host_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--allow", "127.0.0.0/8", "--allow", "a.example"]) == 1
    assert capsys.readouterr().err == (
        "roebot egress: 127.0.0.0/8 is not a private network; list host names instead\n"
    )


@pytest.mark.parametrize("proxy", [None, "http://10.0.0.9:3128"])
async def test_commands_in_a_pod_know_the_proxy(tmp_path: Path, proxy: str | None) -> None:
    station = await PodBackend(SandboxLimits(), root=tmp_path, proxy=proxy).open("one", ())
    result = await station.run("echo $https_proxy $NO_PROXY", None)
    assert result.output.strip() == (proxy or "")


async def test_a_pod_gets_the_address_of_the_proxy(tmp_path: Path) -> None:
    """It can't resolve the name, since it has no way to a name server."""
    async with kubernetes(tmp_path) as api:
        made = backend(api, proxy="http://localhost:3128")
        await made.open("one", ())
        (pod,) = api.pods.values()
        command = pod["spec"]["containers"][0]["command"]
        settings = json.loads(command[command.index("--settings") + 1])
        assert settings["proxy"] in {"http://127.0.0.1:3128", "http://[::1]:3128"}
        with pytest.raises(SandboxUnavailable, match=r"The egress proxy \S+ was not found"):
            await backend(api, proxy="http://no-such.invalid:1").open("two", ())
