"""The files of deploy/ fit the code that they deploy."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from bot.config.loader import load_file
from roebot_provisioner.__main__ import parse_arguments
from tests.docs.blocks import ROOT
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.service import ServiceProcess

pytestmark = pytest.mark.may_block
DEPLOY = ROOT / "deploy"
STRONG = "Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6"
CONTAINER = DEPLOY / "container"


def _containerfile() -> list[list[str]]:
    """Its instructions, continued lines joined."""
    text = (CONTAINER / "Containerfile").read_text().replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_copies_what_is_there() -> None:
    copied = [words[1:-1] for words in _containerfile() if words[0] == "COPY"]
    sources = {source for words in copied for source in words if not source.startswith("--from")}
    here = {source for source in sources if not source.startswith("/")}
    assert {"agent", "bot", "requirements.lock"} <= here
    assert [source for source in here if not (ROOT / source).exists()] == []
    ignored = (CONTAINER / "Containerfile.dockerignore").read_text().splitlines()
    assert here == {line[1:] for line in ignored if line.startswith("!")}


def test_the_image_installs_from_the_locks_with_hashes() -> None:
    runs = [" ".join(words) for words in _containerfile() if words[0] == "RUN"]
    assert any("--require-hashes" in run and run.endswith("requirements.lock") for run in runs)


def test_the_image_runs_as_nobody_in_particular() -> None:
    found = {words[0]: words[1:] for words in _containerfile()}
    assert found["USER"] == ["roebot"]
    assert found["VOLUME"] == ["/data"]
    assert "ROEBOT_HOME=/data" in found["ENV"]
    assert found["ENTRYPOINT"] == ['["roebot"]']


def test_the_compose_file_fits_the_image() -> None:
    service = yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]["roebot"]
    assert (CONTAINER / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).exists()
    assert "home:/data" in service["volumes"]
    assert service["ports"] == ["127.0.0.1:2026:2026"]
    assert service["read_only"] is True


def test_the_configuration_of_the_container_loads(tmp_path: Path) -> None:
    loaded = load_file(CONTAINER / "config" / "config.yaml", {"ROEBOT_TOKEN": STRONG}, tmp_path)
    assert loaded.warnings == ()
    assert loaded.config.server.host == "0.0.0.0"
    text = (CONTAINER / "config" / "config.yaml").read_text()
    path = tmp_path / "config.yaml"
    path.write_text(re.sub(r"^  #", "  ", text, flags=re.MULTILINE))
    env = {"ROEBOT_TOKEN": STRONG, "TELEGRAM_BOT_TOKEN": "1:a"}
    assert [account.name for account in load_file(path, env, tmp_path).config.accounts][-1] == "telegram"


@pytest.mark.systemd
@pytest.mark.parametrize("name", ["roebot", "roebot-sandbox", "roebot with replica"])
def test_systemd_accepts_the_unit(tmp_path: Path, name: str) -> None:
    name, _, addition = name.partition(" with ")
    unit = (DEPLOY / "systemd" / f"{name}.service").read_text()
    path = tmp_path / f"{name}.service"
    path.write_text(re.sub(r"/opt/roebot/\.venv/bin/(roebot|python)", "/bin/true", unit))
    if addition:
        folder = tmp_path / f"{name}.service.d"
        folder.mkdir()
        (folder / "replica.conf").write_text((DEPLOY / "systemd" / f"{addition}.conf").read_text())
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_unit_runs_the_service() -> None:
    unit = (DEPLOY / "systemd" / "roebot.service").read_text()
    assert "ExecStart=/opt/roebot/.venv/bin/roebot run\n" in unit
    assert "StateDirectory=roebot\n" in unit
    assert "ROEBOT_HOME=/var/lib/roebot\n" in unit
    for line in ("DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict"):
        assert f"{line}\n" in unit


def test_the_unit_of_the_sandboxes_takes_nothing_that_they_need() -> None:
    unit = (DEPLOY / "systemd" / "roebot-sandbox.service").read_text()
    for name in (
        "ProtectKernelTunables",
        "ProtectProc",
        "PrivateDevices",
        "SystemCallFilter",
        "RestrictNamespaces=yes",
    ):
        assert name not in unit, f"bubblewrap does not work with {name}"
    for line in ("DynamicUser=yes", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "IPAddressDeny=any"):
        assert f"{line}\n" in unit
    assert "EnvironmentFile=/etc/roebot/sandbox-environment\n" in unit
    words = re.findall(r"^ExecStart=\S+ -m roebot_provisioner (.*)$", unit, re.MULTILINE)[0].split()
    given = parse_arguments(words)
    assert (given.host, given.port, str(given.config)) == ("127.0.0.1", 2027, "/etc/roebot/sandbox.yaml")


def _headers_of_the_proxy() -> dict[str, str]:
    """What nginx would send with a request for https://bot.example.org."""
    text = (DEPLOY / "proxy" / "nginx.conf").read_text()
    values = {'""': "", "$host": "bot.example.org", "$remote_addr": "192.0.2.1", "$scheme": "https"}
    found = re.findall(r"proxy_set_header (\S+) (\S+);", text)
    return {name: values[value] for name, value in found if values[value]}


def test_the_proxy_holds_nothing_back() -> None:
    text = (DEPLOY / "proxy" / "nginx.conf").read_text()
    assert text.count("{") == text.count("}")
    for line in ("proxy_buffering off;", "proxy_http_version 1.1;", "proxy_read_timeout 1h;"):
        assert line in text
    assert all(line.rstrip().endswith((";", "{", "}")) for line in text.splitlines() if _is_code(line))


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


async def test_the_service_accepts_what_the_proxy_sends(tmp_path: Path) -> None:
    server = '{port: 0, allowed_hosts: ["bot.example.org"], trusted_proxies: [127.0.0.1]}'
    config = f"config_version: 1\nserver: {server}\n"
    process = ServiceProcess(tmp_path / "home", config, is_forked=True)
    process.start()
    try:
        found = await process.ready()
        headers = {**_headers_of_the_proxy(), "Origin": "https://bot.example.org"}
        async with httpx.AsyncClient(base_url=found.url, headers=headers, trust_env=False) as http:
            refused = await http.get("/api/channels")
            signed = await http.post("/api/session", json={"token": SERVICE_TOKEN})
            assert (refused.status_code, signed.status_code) == (401, 204)
            assert "secure" in signed.headers["set-cookie"].lower()
            cookie = signed.headers["set-cookie"].partition(";")[0]
            assert (await http.get("/api/channels", headers={"Cookie": cookie})).status_code == 200
    finally:
        assert process.stop() == 0
