"""The manifests of the sandbox's service say what the code does, and give nobody power."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.sandbox.egress.__main__ import parse_arguments as parse_egress
from agent.sandbox.egress.gate import PORT as EGRESS_PORT
from roebot_provisioner.__main__ import TOKEN_VARIABLE, parse_arguments
from roebot_provisioner.cluster import VERBS
from roebot_provisioner.pod_manifest import PORT, KubernetesOptions, make_pod
from tests.docs.blocks import ROOT

pytestmark = pytest.mark.may_block
OPTIONS = KubernetesOptions()
FOLDER = ROOT / "deploy" / "sandbox" / "kubernetes"


@pytest.fixture(scope="module")
def manifests() -> dict[tuple[str, str], Any]:
    """All objects, by kind and name."""
    found: dict[tuple[str, str], Any] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        for made in yaml.safe_load_all(file.read_text()):
            key = made["kind"], made["metadata"]["name"]
            assert key not in found
            found[key] = made
    return found


def test_all_is_in_one_namespace(manifests: dict[tuple[str, str], Any]) -> None:
    namespace = manifests["Namespace", "roebot-sandbox"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    others = [made for made in manifests.values() if made is not namespace]
    assert {made["metadata"]["namespace"] for made in others} == {"roebot-sandbox"}


def test_the_role_allows_what_is_called_and_no_more(manifests: dict[tuple[str, str], Any]) -> None:
    (rule,) = manifests["Role", "roebot-provisioner"]["rules"]
    assert rule == {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "create", "delete"]}
    assert sorted(rule["verbs"]) == sorted(VERBS.values())
    binding = manifests["RoleBinding", "roebot-provisioner"]
    assert binding["roleRef"]["kind"] == "Role"
    assert binding["roleRef"]["name"] == "roebot-provisioner"
    (subject,) = binding["subjects"]
    assert (subject["kind"], subject["name"]) == ("ServiceAccount", "roebot-provisioner")
    assert ("ServiceAccount", "roebot-provisioner") in manifests


def test_the_service_has_its_account_and_no_power(manifests: dict[tuple[str, str], Any]) -> None:
    spec = manifests["Deployment", "roebot-provisioner"]["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"]["type"] == "Recreate"
    inside = spec["template"]["spec"]
    assert inside["serviceAccountName"] == "roebot-provisioner"
    assert inside["automountServiceAccountToken"] is True
    assert inside["securityContext"]["runAsNonRoot"] is True
    assert inside["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = inside["containers"]
    (made,) = make_pod("one", "t", OPTIONS)["spec"]["containers"]
    assert container["securityContext"] == made["securityContext"]
    assert container["resources"]["limits"]["memory"]


def test_the_command_line_is_one(manifests: dict[tuple[str, str], Any]) -> None:
    (container,) = manifests["Deployment", "roebot-provisioner"]["spec"]["template"]["spec"]["containers"]
    (made,) = make_pod("one", "t", OPTIONS)["spec"]["containers"]
    assert container["command"][:3] == made["command"][:3]
    variable, address = container["env"]
    assert address == made["env"][1]
    given = parse_arguments(container["command"][3:])
    assert (given.backend, given.host, given.port) == ("kubernetes", f"$({address['name']})", PORT)
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "settings"]
    assert given.config == Path(mount["mountPath"]) / "settings.yaml"
    assert variable["name"] == TOKEN_VARIABLE == made["env"][0]["name"]
    secret = manifests["Secret", variable["valueFrom"]["secretKeyRef"]["name"]]
    assert secret["stringData"] == {variable["valueFrom"]["secretKeyRef"]["key"]: ""}, "no value in a file"
    assert parse_arguments(made["command"][3:]).backend == "pod"
    assert parse_arguments(made["command"][3:]).port == PORT
    assert parse_arguments(made["command"][3:]).host == given.host


def test_the_settings_are_known(manifests: dict[tuple[str, str], Any]) -> None:
    (text,) = manifests["ConfigMap", "roebot-provisioner"]["data"].values()
    settings = yaml.safe_load(text)
    assert KubernetesOptions(**settings) == KubernetesOptions()
    assert set(settings) | {"namespace", "proxy", "runtime_class"} == set(KubernetesOptions.model_fields)
    (container,) = manifests["Deployment", "roebot-provisioner"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == settings["image"]


def test_the_image_has_what_is_called() -> None:
    """The tags that the README builds, and where they have Python."""
    readme, recipe = (FOLDER / "README.md").read_text(), (FOLDER / "Containerfile").read_text()
    assert f"-t {KubernetesOptions().image} ." in readme
    assert "ARG ROEBOT=roebot\n" in recipe
    assert "-t roebot ." in readme
    base = (ROOT / "deploy" / "container" / "Containerfile").read_text()
    assert "/opt/roebot" in base
    ignored = (FOLDER / "Containerfile.dockerignore").read_text().splitlines()
    copied = {line.split()[1] for line in recipe.splitlines() if line.startswith("COPY")}
    assert all((ROOT / source).exists() for source in copied)
    assert copied == {line[1:] for line in ignored if line.startswith("!")}


def test_the_network_is_closed(manifests: dict[tuple[str, str], Any]) -> None:
    """A sandbox is called by the service alone and calls nobody."""
    everybody = manifests["NetworkPolicy", "nothing-by-default"]["spec"]
    assert everybody == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    labels = make_pod("one", "t", OPTIONS)["metadata"]["labels"]
    sandboxes = manifests["NetworkPolicy", "sandboxes"]["spec"]
    assert sandboxes["podSelector"]["matchLabels"].items() <= labels.items()
    assert sandboxes["policyTypes"] == ["Ingress", "Egress"]
    assert sandboxes["egress"] == []
    template = manifests["Deployment", "roebot-provisioner"]["spec"]["template"]["metadata"]["labels"]
    assert sandboxes["ingress"] == [
        {"from": [{"podSelector": {"matchLabels": template}}], "ports": [{"protocol": "TCP", "port": PORT}]}
    ]
    assert not template.items() <= labels.items()


def test_the_only_way_to_the_network_is_the_proxy(manifests: dict[tuple[str, str], Any]) -> None:
    """Sandboxes call it alone; it is called by them alone, and calls no private network."""
    sandbox = make_pod("one", "t", OPTIONS)["metadata"]["labels"]
    template = manifests["Deployment", "roebot-egress"]["spec"]["template"]
    proxy = template["metadata"]["labels"]
    ports = [{"protocol": "TCP", "port": EGRESS_PORT}]
    leaving = manifests["NetworkPolicy", "sandboxes-egress"]["spec"]
    assert leaving["podSelector"]["matchLabels"].items() <= sandbox.items()
    assert leaving["egress"] == [{"to": [{"podSelector": {"matchLabels": proxy}}], "ports": ports}]
    around = manifests["NetworkPolicy", "egress"]["spec"]
    assert around["podSelector"]["matchLabels"] == proxy
    assert around["ingress"][0]["from"] == [{"podSelector": leaving["podSelector"]}]
    assert around["ingress"][0]["ports"] == ports
    _, public = around["egress"]
    blocks = [ip_network(block["ipBlock"]["cidr"]) for block in public["to"]]
    excluded = [ip_network(one) for block in public["to"] for one in block["ipBlock"].get("except", [])]
    inside = "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "fd00::1", "::1"
    for address in map(ip_address, inside):
        assert any(address in one for one in excluded) or not any(address in one for one in blocks)
    (container,) = template["spec"]["containers"]
    (made,) = make_pod("one", "t", OPTIONS)["spec"]["containers"]
    assert container["securityContext"] == made["securityContext"]
    given = parse_egress(container["command"][3:])
    assert (container["command"][2], given.port, given.allow) == ("agent.sandbox.egress", EGRESS_PORT, None)
    service = manifests["Service", "roebot-egress"]["spec"]
    assert (service["selector"], service["ports"][0]["port"]) == (proxy, EGRESS_PORT)


def test_the_service_is_found(manifests: dict[tuple[str, str], Any]) -> None:
    deployment = manifests["Deployment", "roebot-provisioner"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    spec = manifests["Service", "roebot-provisioner"]["spec"]
    assert spec["selector"] == labels
    (port,) = spec["ports"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert port["targetPort"] == container["ports"][0]["name"]
    assert port["port"] == container["ports"][0]["containerPort"] == PORT
    policy = manifests["NetworkPolicy", "provisioner"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["ingress"][0]["ports"][0]["port"] == PORT
