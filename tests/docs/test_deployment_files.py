"""The files of deploy/ as the tools see them that would load them: Helm, Compose and nginx."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.app.home import REPLICA_NAME
from bot.config.loader import LoadedConfig, load_file
from tests.docs.blocks import ROOT

pytestmark = pytest.mark.may_block
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "roebot"
REPLICAS = DEPLOY / "replicas"
COMPOSE = [DEPLOY / "container" / "compose.yaml", REPLICAS / "compose.yaml"]
OLDEST, NEWEST = "1.27", "1.37"
"""Versions of Kubernetes: the oldest that the chart accepts, and the newest whose schemas are known."""
# In a process of its own: Helm is a library in Go, with threads that a fork does not survive.
HELM = """
import json, sys
import helm_python as helm
asked = json.load(sys.stdin)
found = helm.lint(asked["chart"], asked["values"], strict=True, kube_version=asked["version"])
answer = {"lint": found["messages"], "errors": found["errors"], "manifests": {}}
with helm.Chart.load(asked["chart"]) as chart:
    try:
        chart.validate_schema(asked["values"])
        answer["manifests"] = chart.render(asked["values"], name=asked["name"], namespace="bots")
    except helm.HelmError as error:
        answer["errors"].append(str(error))
json.dump(answer, sys.stdout)
"""
COMPOSE_PARSER = "import sys, compose_spec; compose_spec.PyCompose.from_yaml(sys.stdin.read())"
SMALL = {"secret": {"values": {"DATABASE_URL": "postgresql://roebot@db/roebot", "OPENAI_API_KEY": "sk-1"}}}
LARGE = {
    "replicas": 3,
    "image": {"repository": "images.example.org/roebot", "tag": "1.2.3"},
    "imagePullSecrets": [{"name": "images"}],
    "config": {
        "server": {"allowed_hosts": ["bot.internal"], "trusted_proxies": ["10.42.0.0/24"]},
        "channels": {"telegram": {"bot_token": "$TELEGRAM_BOT_TOKEN"}},
        "access": {"owners": ["telegram:1"]},
    },
    "secret": {"existing": "roebot-secrets"},
    "data": {"existingClaim": "roebot-data"},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "bot.example.org",
        "tlsSecret": "bot-tls",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "25m"},
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "tokenSecret": "metrics"},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
    "podLabels": {"roebot/sandbox-client": "true"},
    "podAnnotations": {"example.org/team": "chat"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
}
Objects = dict[tuple[str, str], Any]
tools = pytest.mark.deploy_tools


def ask_helm(values: Mapping[str, Any], name: str = "roebot", version: str = NEWEST) -> dict[str, Any]:
    """What Helm says about the chart with these values: `lint`, `errors`, and the `manifests` by template."""
    asked = {"chart": str(CHART), "values": values, "name": name, "version": f"v{version}.0"}
    done = subprocess.run(
        [sys.executable, "-c", HELM],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def render(values: Mapping[str, Any], name: str = "roebot") -> Objects:
    """The objects that the chart makes, by kind and name."""
    answer = ask_helm(values, name)
    assert answer["errors"] == []
    texts = [text for path, text in answer["manifests"].items() if not path.endswith("NOTES.txt")]
    made = [one for text in texts for one in yaml.safe_load_all(text) if one]
    objects = {(one["kind"], one["metadata"]["name"]): one for one in made}
    assert len(objects) == len(made)
    return objects


def load_config(objects: Objects, folder: Path, **env: str) -> LoadedConfig:
    """Load the rendered config.yaml, as the pod does."""
    path = folder / "config.yaml"
    path.write_text(objects["ConfigMap", "roebot"]["data"]["config.yaml"])
    pod = {"POD_IP": "10.42.0.7", "DATABASE_URL": "postgresql://roebot@db/roebot"}
    return load_file(path, {**pod, **env}, folder)


@tools
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("values", [SMALL, LARGE], ids=["small", "large"])
def test_kubernetes_knows_every_field(tmp_path: Path, values: Mapping[str, Any], version: str) -> None:
    """Of a ServiceMonitor, whose schema is the operator's, nothing is checked."""
    answer = ask_helm(values, version=version)
    assert [one for one in answer["lint"] if one["path"] != "Chart.yaml"] == []
    objects = render(values)
    files = []
    for (kind, name), made in objects.items():
        if kind != "ServiceMonitor":
            files.append(tmp_path / f"{kind}-{name}.yaml")
            files[-1].write_text(yaml.safe_dump(made))
    assert len(files) >= 6
    command = [sys.executable, "-W", "ignore", "-m", "kubernetes_validate", "--strict", "-k", version]
    done = subprocess.run(
        [*command, *map(str, files)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@tools
def test_a_release_needs_little(tmp_path: Path) -> None:
    objects = render(SMALL)
    assert {kind for kind, _ in objects} == {
        *("ConfigMap", "PersistentVolumeClaim", "PodDisruptionBudget", "Secret", "Service", "StatefulSet")
    }
    assert objects["Secret", "roebot"]["stringData"] == SMALL["secret"]["values"]
    claim = objects["PersistentVolumeClaim", "roebot"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    server = load_config(objects, tmp_path).config.server
    assert (server.host, server.port, server.public_url) == ("0.0.0.0", 2026, None)
    assert server.allowed_hosts == ("10.42.0.7",), "probes and Prometheus call the pod by its address"


@tools
def test_all_values_arrive(tmp_path: Path) -> None:
    objects = render(LARGE)
    loaded = load_config(objects, tmp_path, TELEGRAM_BOT_TOKEN="1:a")
    assert loaded.warnings == ()
    server = loaded.config.server
    assert server.allowed_hosts == ("10.42.0.7", "bot.example.org", "bot.internal")
    assert (server.public_url, server.trusted_proxies) == ("https://bot.example.org", ("10.42.0.0/24",))
    assert not {"Secret", "PersistentVolumeClaim"} & {kind for kind, _ in objects}
    pod = objects["StatefulSet", "roebot"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "images.example.org/roebot:1.2.3"
    assert container["envFrom"] == [{"secretRef": {"name": "roebot-secrets"}}]
    assert {"persistentVolumeClaim": {"claimName": "roebot-data"}, "name": "data"} in pod["spec"]["volumes"]
    assert LARGE["podLabels"].items() <= pod["metadata"]["labels"].items()  # type: ignore[attr-defined]
    assert objects["Ingress", "roebot"]["spec"]["tls"][0]["hosts"] == ["bot.example.org"]


@tools
def test_the_values_of_the_guide_render(tmp_path: Path) -> None:
    found = re.findall(r"^ *```yaml values\n(.+?)^ *```", (CHART / "README.md").read_text(), re.M | re.S)
    assert len(found) == 2
    for text in found:
        load_config(render({**SMALL, **yaml.safe_load(textwrap.dedent(text))}), tmp_path)


@tools
def test_a_pod_is_a_replica_without_power() -> None:
    """Its name is one that `roebot run --replica` accepts, however long that of the release."""
    for release in ("roebot", "a-release-with-a-rather-long-name-of-its-own-for-tests"):
        ((kind, name),) = [key for key in render(SMALL, release) if key[0] == "StatefulSet"]
        assert REPLICA_NAME.fullmatch(f"{name}-999")
    spec = render(SMALL)[kind, "roebot"]["spec"]
    inside = spec["template"]["spec"]
    (container,) = inside["containers"]
    env = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in container["env"]}
    assert env == {"ROEBOT_REPLICA": "metadata.name", "POD_IP": "status.podIP"}
    user = re.search(r"--uid (\d+)", (DEPLOY / "container" / "Containerfile").read_text())
    assert user and inside["securityContext"]["runAsUser"] == int(user[1])
    assert inside["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert inside["automountServiceAccountToken"] is False
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert mounts == {"config": "/etc/roebot", "data": "/data", "tmp": "/tmp"}


@tools
def test_objects_name_each_other() -> None:
    objects = render(LARGE)
    spec = objects["StatefulSet", "roebot"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    selectors = [
        spec["selector"]["matchLabels"],
        objects["Service", "roebot"]["spec"]["selector"],
        objects["Service", spec["serviceName"]]["spec"]["selector"],
        objects["PodDisruptionBudget", "roebot"]["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy", "roebot"]["spec"]["podSelector"]["matchLabels"],
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)
    assert not {"helm.sh/chart", "app.kubernetes.io/version"} & set(selectors[0]), "a selector can't change"
    monitor = objects["ServiceMonitor", "roebot"]["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    chosen = [
        name
        for (kind, name), one in objects.items()
        if kind == "Service" and wanted <= one["metadata"]["labels"].items()
    ]
    assert chosen == ["roebot"], "each pod is scraped once"
    (port,) = objects["Service", "roebot"]["spec"]["ports"]
    (path,) = objects["Ingress", "roebot"]["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": "roebot", "port": {"name": port["name"]}}
    assert {one["port"] for one in monitor["endpoints"]} == {port["name"]}
    prometheus = yaml.safe_load((DEPLOY / "monitoring" / "prometheus.yaml").read_text())
    jobs = {one["job_name"]: one.get("metrics_path", "/metrics") for one in prometheus["scrape_configs"]}
    assert jobs == {one["relabelings"][0]["replacement"]: one["path"] for one in monitor["endpoints"]}


@tools
@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({}, "Set secret.existing, or DATABASE_URL in secret.values."),
        ({**SMALL, "replica": 3}, "additional properties 'replica' not allowed"),
        ({**SMALL, "replicas": 0}, "minimum: got 0, want 1"),
        ({**SMALL, "ingress": {"enabled": True}}, "Set ingress.host."),
        ({**SMALL, "serviceMonitor": {"enabled": True}}, "Set serviceMonitor.tokenSecret."),
        ({**SMALL, "config": {"database": {"url": "postgresql://me:secret@db/x"}}}, "does not match pattern"),
        ({"secret": {"values": {"A-B": "x"}}}, "'A-B'"),
    ],
)
def test_wrong_values_are_refused_with_a_reason(values: Mapping[str, Any], error: str) -> None:
    assert error in "\n".join(ask_helm(values)["errors"])


@tools
def test_the_readme_lists_every_value() -> None:
    def names(values: Mapping[str, Any], prefix: str = "") -> set[str]:
        nested = {name: value for name, value in values.items() if value and isinstance(value, dict)}
        own = {f"{prefix}{name}" for name in values if name not in nested}
        return own.union(*(names(value, f"{prefix}{name}.") for name, value in nested.items()))

    listed = set(re.findall(r"^\| `([\w.]+)` \|", (CHART / "README.md").read_text(), re.MULTILINE))
    default = yaml.safe_load((CHART / "values.yaml").read_text())
    default["config"], default["resources"] = {}, {}
    assert listed == names(default)
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version and yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == version[1]


@tools
@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.parent.name)
def test_compose_accepts_the_file(tmp_path: Path, file: Path) -> None:
    """Its parser refuses unknown keys; podman-compose resolves variables and what services depend on."""
    parse = [sys.executable, "-c", COMPOSE_PARSER]
    resolved = yaml.safe_dump(yaml.safe_load(file.read_text()))
    done = subprocess.run(parse, input=resolved, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    copied = tmp_path / "deploy" / file.parent.name / file.name
    copied.parent.mkdir(parents=True)
    copied.write_text(file.read_text())
    (copied.parent / ".env").write_text("POSTGRES_PASSWORD=secret\n")
    command = [sys.executable, "-m", "podman_compose", "-f", str(copied), "config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    urls = [one["environment"]["DATABASE_URL"] for name, one in services.items() if name in ("a", "b")]
    assert set(urls) <= {"postgresql://roebot:secret@database/roebot"}
    for service in services.values():
        assert "build" in service or service["image"].startswith("docker.io/"), "Podman knows no short names"
        assert service["restart"] == "unless-stopped"
        assert "no-new-privileges:true" in service["security_opt"]


def test_the_replicas_are_where_the_proxy_looks(tmp_path: Path) -> None:
    compose = yaml.safe_load((REPLICAS / "compose.yaml").read_text())
    (subnet,) = [one["subnet"] for one in compose["networks"]["roebot"]["ipam"]["config"]]
    services = compose["services"]
    addresses = {name: services[name]["networks"]["roebot"]["ipv4_address"] for name in ("a", "b", "proxy")}
    assert all(ip_address(one) in ip_network(subnet) for one in addresses.values())
    site = (REPLICAS / "nginx.conf").read_text()
    config = load_file(REPLICAS / "config" / "config.yaml", {"DATABASE_URL": "postgresql://db/x"}, tmp_path)
    assert config.warnings == ()
    server = config.config.server
    assert re.findall(r"server ([\d.]+):(\d+) ", site) == [
        (addresses[name], str(server.port)) for name in ("a", "b")
    ]
    assert server.trusted_proxies == (addresses["proxy"],)
    names = [services[name]["command"][2] for name in ("a", "b")]
    assert names == ["a", "b"]
    assert all(services[name]["command"][:2] == ["run", "--replica"] for name in names)
    assert services["proxy"]["ports"] == [f"127.0.0.1:{server.port}:80"]


def test_the_options_of_the_replicas_load(tmp_path: Path) -> None:
    """What the guide says to uncomment."""
    text = (REPLICAS / "config" / "config.yaml").read_text()
    path = tmp_path / "config.yaml"
    path.write_text(re.sub(r"^  #", "  ", text, flags=re.MULTILINE))
    env = {"DATABASE_URL": "postgresql://db/x", "TELEGRAM_BOT_TOKEN": "1:a"}
    config = load_file(path, env, tmp_path).config
    assert (config.server.public_url, config.server.allowed_hosts) == (
        "https://bot.example.org",
        ("bot.example.org",),
    )


@pytest.mark.nginx
@pytest.mark.parametrize("name", ["proxy", "replicas", "replicas with TLS"])
def test_nginx_accepts_the_site(tmp_path: Path, name: str) -> None:
    folder, _, tls = name.partition(" with ")
    site = (DEPLOY / folder / "nginx.conf").read_text()
    if tls:
        site = re.sub(r"^    #(server_name|listen|ssl)", r"    \1", site, flags=re.MULTILINE)
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=bot.example.org"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], capture_output=True, timeout=60, check=True)
    site = re.sub(r"/etc/(ssl/bot\.example\.org|nginx/certificates)", str(tmp_path), site)
    assert site.count(str(tmp_path)) == 2
    (tmp_path / "site.conf").write_text(site)
    main = tmp_path / "main.conf"
    main.write_text(f"pid {tmp_path}/pid; events {{}} http {{ include {tmp_path}/site.conf; }}")
    done = subprocess.run(
        ["nginx", "-t", "-e", "stderr", "-c", str(main)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr
