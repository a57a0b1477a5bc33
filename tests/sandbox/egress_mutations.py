"""Guards of the egress proxy, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

RULES, PROXY = "agent/sandbox/egress/rules.py", "agent/sandbox/egress/proxy.py"
FORWARD, PEER = "agent/sandbox/egress/forwarding.py", "agent/sandbox/egress/http_peer.py"
GATE, ADDRESS = "agent/sandbox/egress/gate.py", "agent/shared/public_address.py"
RULE_TESTS, PROXY_TESTS = "tests/sandbox/test_egress_rules.py", "tests/sandbox/test_egress_proxy.py"
LOCAL = "tests/sandbox/test_egress_local.py::TestEgressOfLocal"
CONTAINER_TESTS = "tests/sandbox/test_egress_container.py"
CONTAINER = f"{CONTAINER_TESTS}::TestEgressOfContainers"
TWICE = f"{PROXY_TESTS}::test_a_request_with_two_meanings_is_refused"


def egress(guard: str, file: str, old: str, new: str, test: str) -> Mutation:
    """Return a guard of the proxy."""
    return Mutation("network", f"egress: {guard}", file, old, new, test)


EGRESS_MUTATIONS = (
    egress(
        "all addresses are checked",
        ADDRESS,
        "if not all(permitted(address) for address in found):",
        "if False:",
        f"{LOCAL}::test_names_of_addresses_inside",
    ),
    egress(
        "one forbidden address refuses the host",
        ADDRESS,
        "if not all(permitted(address)",
        "if not any(permitted(address)",
        f"{LOCAL}::test_names_of_addresses_inside",
    ),
    egress(
        "the checked address is connected to",
        PROXY,
        "asyncio.open_connection(address, target.port)",
        "asyncio.open_connection((await self._rules.find_addresses(target))[0], target.port)",
        f"{LOCAL}::test_a_name_that_changes_its_address",
    ),
    egress(
        "targets are names",
        RULES,
        "not _NAME.fullmatch(host)",
        "not host",
        f"{LOCAL}::test_every_spelling_of_an_address",
    ),
    egress(
        "a name does not end in a number",
        RULES,
        r"""(?:{_LABEL}\.)*[a-z](?:[a-z0-9-]""",
        r"""(?:{_LABEL}\.)*[a-z0-9](?:[a-z0-9-]""",
        f"{LOCAL}::test_every_spelling_of_an_address",
    ),
    egress(
        "a target is a host and a port",
        RULES,
        "found = _AUTHORITY.fullmatch(authority)",
        'found = re.search(r"([^:/?#@\\[\\]\\s]+)(?::([0-9]{1,5}))?$", authority)',
        f"{LOCAL}::test_every_spelling_of_an_address",
    ),
    egress(
        "only the ports of the web",
        RULES,
        "if target.port not in ports:",
        "if False:",
        f"{LOCAL}::test_ports",
    ),
    egress(
        "only listed hosts",
        RULES,
        "            if not covering:\n",
        "            if False:\n",
        f"{RULE_TESTS}::test_a_list_of_hosts",
    ),
    egress(
        "an entry covers whole labels",
        RULES,
        'target.host.endswith(f".{self.name}")',
        "target.host.endswith(self.name)",
        f"{RULE_TESTS}::test_a_list_of_hosts",
    ),
    egress(
        "listed networks are private",
        RULES,
        "if not _is_private(network):",
        "if False:",
        f"{RULE_TESTS}::test_wrong_values_are_named",
    ),
    egress(
        "no metadata service in a listed network",
        RULES,
        "found not in _METADATA and ",
        "",
        f"{RULE_TESTS}::test_private_networks_are_listed_by_number",
    ),
    egress(
        "no service of this machine",
        PROXY,
        "if _is_own_address(writer):",
        "if False:",
        f"{PROXY_TESTS}::test_a_server_on_this_machine_is_refused_whatever_its_address",
    ),
    egress("a request has one length", FORWARD, "<= set(names):", "<= set():", TWICE),
    egress(
        "a tunnel has no body",
        FORWARD,
        'if b"content-length" in names or b"transfer-encoding" in names:',
        "if False:",
        TWICE,
    ),
    egress("the Host header is the target", FORWARD, "default) != target:", "default) is None:", TWICE),
    egress(
        "only http without a tunnel", FORWARD, "if not text.lower().startswith(_SCHEME):", "if False:", TWICE
    ),
    egress(
        "headers for the proxy stay",
        PEER,
        ' and not name.lower().startswith(b"proxy-")',
        "",
        f"{PROXY_TESTS}::test_a_request_arrives_without_the_headers_of_the_way",
    ),
    egress(
        "headers for the connection stay",
        PEER,
        "if name.lower() not in _HOP_BY_HOP | named and",
        "if",
        f"{PROXY_TESTS}::test_a_request_arrives_without_the_headers_of_the_way",
    ),
    egress(
        "heads have a time limit",
        PEER,
        "async with asyncio.timeout(seconds):",
        "async with asyncio.timeout(None):",
        f"{PROXY_TESTS}::test_a_large_head_and_a_slow_one_end",
    ),
    egress(
        "heads have a size limit",
        PEER,
        "max_incomplete_event_size=HEAD_BYTES",
        "max_incomplete_event_size=1 << 30",
        f"{PROXY_TESTS}::test_a_large_head_and_a_slow_one_end",
    ),
    egress(
        "idle tunnels end",
        FORWARD,
        "+ self._idle)",
        "+ 1_000 * self._idle)",
        f"{PROXY_TESTS}::test_an_idle_tunnel_ends",
    ),
    egress(
        "connections are limited",
        PROXY,
        "if self._has_room(usage):",
        "if True:",
        f"{PROXY_TESTS}::test_connections_are_limited",
    ),
    egress(
        "only a listening socket is served",
        GATE,
        "if listener is None:",
        "if listener is None and not descriptors:",
        f"{PROXY_TESTS}::test_what_is_sent_to_the_gate_is_a_listening_socket_or_nothing",
    ),
    egress(
        "one socket for each command",
        GATE,
        "        self.stop_receiving()\n        listener",
        "        listener",
        f"{PROXY_TESTS}::test_what_is_sent_to_the_gate_is_a_listening_socket_or_nothing",
    ),
    egress(
        "the namespace stays separate",
        "agent/sandbox/bubblewrap.py",
        '    own += ["--unshare-net"]\n',
        '    own += [] if job.gate_fd else ["--unshare-net"]\n',
        f"{LOCAL}::test_ways_around_the_proxy",
    ),
)
EGRESS_CONTAINER_MUTATIONS = (
    egress(
        "the container's namespace stays separate",
        "agent/sandbox/warm_container.py",
        'words += ["--network", "none"]',
        'words += ["--network", "host" if setup.egress else "none"]',
        f"{CONTAINER}::test_ways_around_the_proxy",
    ),
    egress(
        "each container has its own gate",
        "agent/sandbox/warm_container.py",
        "return self._setup.home_folder.absolute() / GATES / self.name",
        "return self._setup.home_folder.absolute() / GATES",
        f"{CONTAINER_TESTS}::test_each_container_has_a_gate_of_its_own",
    ),
)
