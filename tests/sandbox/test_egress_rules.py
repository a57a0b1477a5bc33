"""What a sandbox may connect to: the configuration's values, names, ports and addresses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from, text

from agent.config.document import SwitchWord
from agent.config.env import EnvText
from agent.core.interfaces import SandboxUnavailable
from agent.sandbox.egress.rules import EgressError, EgressRules, EgressTarget, parse_hosts, parse_target
from agent.sandbox.options import LocalOptions, make_proxy, read_options


@pytest.mark.parametrize(
    ("value", "network"),
    [
        (False, False),
        (SwitchWord("off"), False),
        (True, "public"),
        (SwitchWord("yes"), "public"),
        ("public", "public"),
        (EnvText("public", "NETWORK"), "public"),
        (EnvText("false", "NETWORK"), False),
        ("example.org", ("example.org",)),
        (["*.example.org", "10.0.0.0/8"], ("*.example.org", "10.0.0.0/8")),
    ],
)
def test_values_of_the_key(value: object, network: object) -> None:
    options = read_options(LocalOptions, {"network": value})
    assert options.network == network
    assert (make_proxy(options.network) is None) == (network is False)


@pytest.mark.guard(
    "egress: listed networks are private",
    "agent/sandbox/egress/rules.py",
    "if not _is_private(network):",
    "if False:",
    against="network",
)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "expected at least one host name"),
        (["10.0.0.0/8"], "expected at least one host name"),
        ("pubilc", "expected false, public or a list of host names, not 'pubilc'"),
        (3, "expected false, public or a list of host names"),
        ([True], "expected false, public or a list of host names"),
        ({"a": 1}, "expected false, public or a list of host names"),
        (["*"], "expected a host such as"),
        (["https://example.org"], "expected a host such as"),
        (["example.org:0"], "expected a host such as"),
        (["exa mple.org"], "expected a host such as"),
        (["a.example", "127.0.0.1"], "127.0.0.1 is not a private network"),
        (["a.example", "169.254.0.0/16"], "is not a private network"),
        (["a.example", "0.0.0.0/0"], "is not a private network"),
        (["a.example", "::/0"], "is not a private network"),
        (["a.example", "8.8.8.8"], "is not a private network"),
    ],
)
def test_wrong_values_are_named(value: object, problem: str) -> None:
    with pytest.raises(SandboxUnavailable, match=r"^sandbox\.network in the configuration: ") as caught:
        read_options(LocalOptions, {"network": value})
    assert problem in str(caught.value)
    assert "Value error" not in str(caught.value)


def known(*addresses: str, **hosts: object) -> EgressRules:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    listed = hosts.get("hosts")
    if listed is None:
        return EgressRules(resolve=resolve)
    rules = parse_hosts(listed)  # type: ignore[arg-type]
    return EgressRules(rules.hosts, rules.networks, resolve=resolve)


async def outcome(rules: EgressRules, authority: str) -> str:
    try:
        return ",".join(await rules.find_addresses(parse_target(authority, 443)))
    except EgressError as error:
        return str(error)


@pytest.mark.guard(
    "egress: only listed hosts",
    "agent/sandbox/egress/rules.py",
    "            if not covering:\n",
    "            if False:\n",
    against="network",
)
@pytest.mark.guard(
    "egress: an entry covers whole labels",
    "agent/sandbox/egress/rules.py",
    'target.host.endswith(f".{self.name}")',
    "target.host.endswith(self.name)",
    against="network",
)
@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("example.org", "8.8.8.8"),
        ("EXAMPLE.org.", "8.8.8.8"),
        ("a.example.net", "8.8.8.8"),
        ("a.b.example.net", "8.8.8.8"),
        ("example.net", "example.net is not an allowed host"),
        ("badexample.net", "badexample.net is not an allowed host"),
        ("sub.example.org", "sub.example.org is not an allowed host"),
        ("example.org.evil.test", "example.org.evil.test is not an allowed host"),
        ("example.org:8080", "port 8080 is not allowed"),
        ("git.example:2222", "8.8.8.8"),
        ("git.example:443", "port 443 is not allowed"),
    ],
)
async def test_a_list_of_hosts(host: str, said: str) -> None:
    rules = known("8.8.8.8", hosts=["example.org", "*.example.net", "git.example:2222"])
    assert await outcome(rules, host) == said


@pytest.mark.parametrize("port", [22, 25, 8080, 8443])
async def test_public_means_the_ports_of_the_web(port: int) -> None:
    assert await outcome(known("8.8.8.8"), f"example.org:{port}") == f"port {port} is not allowed"
    assert await outcome(known("8.8.8.8"), "example.org:80") == "8.8.8.8"


@pytest.mark.guard(
    "egress: no metadata service in a listed network",
    "agent/sandbox/egress/rules.py",
    "found not in _METADATA and ",
    "",
    against="network",
)
@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        (["10.1.2.3"], "10.1.2.3"),
        (["fd12::1"], "fd12::1"),
        (["8.8.8.8", "10.1.2.3"], "8.8.8.8,10.1.2.3"),
        (["10.2.0.1"], "a.example is not on the public internet"),
        (["127.0.0.1"], "a.example is not on the public internet"),
        (["169.254.169.254"], "a.example is not on the public internet"),
        (["100.100.100.200"], "a.example is not on the public internet"),
        (["fd00:ec2::254"], "a.example is not on the public internet"),
        (["fe80::1%eth0"], "a.example is not on the public internet"),
        (["10.1.2.3", "127.0.0.1"], "a.example is not on the public internet"),
        ([], "a.example was not found"),
    ],
)
async def test_private_networks_are_listed_by_number(addresses: list[str], said: str) -> None:
    """The loopback address and the metadata of clouds are refused even if their network is listed."""
    rules = known(*addresses, hosts=["a.example", "10.1.0.0/16", "100.64.0.0/10", "fc00::/7"])
    assert await outcome(rules, "a.example") == said
    assert (await outcome(known(*addresses), "a.example")).startswith("a.example "), "not by default"


@pytest.mark.parametrize(
    "authority", ["", ":80", "a.example:", "a.example:0", "a.example:65536", "a b:80", "a:b:80"]
)
def test_what_is_no_target(authority: str) -> None:
    with pytest.raises(EgressError) as caught:
        parse_target(authority)
    assert caught.value.status == 400


@given(text(max_size=20), sampled_from(["", "/", "@", "#", "?", "%00", "]", "\\"]), integers(0, 2**32 - 1))
def test_a_target_is_a_plain_name(name: str, sign: str, number: int) -> None:
    """Whatever is accepted has only letters, digits, hyphens and dots, and is no number."""
    numbers = f"{number}", f"{number:#x}", f"0{number:o}"
    for authority in (f"{name}{sign}{number}", *numbers, f"{name}.{number:#x}"):
        try:
            target = parse_target(authority, 443)
        except EgressError:
            continue
        assert set(target.host) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
        assert target.host.rpartition(".")[2][0].isalpha()


def test_targets_are_compared_in_one_form() -> None:
    assert parse_target("A.Example.:443") == parse_target("a.example", 443) == EgressTarget("a.example", 443)
