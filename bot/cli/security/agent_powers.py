"""Capabilities that tools give the agent, and findings about tools, sandbox, MCP and external agents."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from agent.config.harness import ALLOWLIST, LOCAL_SANDBOX
from agent.config.mcp_keys import translate_servers
from agent.config.models import default_web_tools
from bot.cli.security import Installation, SecurityFinding, Severity, is_plain_http
from bot.cli.security.entrances import SHORT_SECRET, is_weak
from bot.config import Config

REMOTE_SANDBOX = "agent.sandbox.remote:RemoteSandboxProvider"
BUNDLED_TOOLS = "agent.tools."
SHELL = "bash"
PUBLIC = "public"
WRITE = "write_file"
ACP_TOOL = "invoke_acp_agent"
NEVER, WITHOUT_APPROVAL = "never", "without approval"


def describe_tools(found: Installation) -> Iterator[str]:
    """Describe the agent's capabilities for members, with the approval that each kind of tool requires."""
    config = found.config
    if config.sandbox.enabled:
        where = "without isolation" if is_unconfined(config) else "in the sandbox"
        network = network_of(config)
        named = network if isinstance(network, str) else ", ".join(network)
        reach = f", network: {named}" if network else ", no network"
        yield f"have the agent run commands {where}{reach}: {approval_of(config, SHELL)}"
        yield f"have the agent read and write files of the conversation: {approval_of(config, WRITE)}"
    for tool in config.tools:
        yield f"have the agent use the tool {tool.name}: {approval_of(config, tool.name)}"
    for name in enabled_servers(found):
        yield f"have the agent use the MCP server {name}: {approval_of(config, f'{name}_*')}"
    for name, agent in config.acp_agents.items():
        if agent.enabled:
            yield f"have the agent delegate to {name}, outside the sandbox: {approval_of(config, ACP_TOOL)}"
    for name in default_web_tools(config):
        yield f"have the agent use {name} while the internet can be reached: {approval_of(config, name)}"
    if config.memory.enabled:
        yield "have the agent remember facts about them, and about their groups"
    if config.subagents.enabled:
        yield f"have the agent start up to {config.subagents.max_concurrent} subagents with the same tools"


def approval_of(config: Config, tool: str) -> str:
    """Return a description of whether a tool needs approval."""
    guard = config.guardrails
    if not guard.enabled:
        return WITHOUT_APPROVAL
    if guard.provider.use != ALLOWLIST:
        return f"as {guard.provider.use.rpartition(':')[2]} decides"
    lists = guard.provider.extra_arguments()
    if _is_listed(tool, lists.get("denied")):
        return NEVER
    if _is_listed(tool, lists.get("ask")):
        return "after approval"
    if "allowed" in lists and not _is_listed(tool, lists["allowed"]):
        return NEVER
    return WITHOUT_APPROVAL


def _is_listed(tool: str, patterns: object) -> bool:
    return isinstance(patterns, list | tuple) and any(fnmatchcase(tool, str(one)) for one in patterns)


def is_unconfined(config: Config) -> bool:
    """Return True if commands run with the permissions of the service."""
    local = config.sandbox.use == LOCAL_SANDBOX
    return config.sandbox.enabled and local and config.sandbox.extra.get("isolation") == "none"


def enabled_servers(found: Installation) -> Mapping[str, Mapping[str, Any]]:
    """Return the enabled MCP servers by name."""
    servers = translate_servers(found.extensions.get("mcpServers"))
    known = servers if isinstance(servers, Mapping) else {}
    return {
        name: server
        for name, server in known.items()
        if isinstance(server, Mapping) and server.get("enabled", True) is not False
    }


def list_host_tools(found: Installation) -> list[str]:
    """Return the tools that reach beyond the sandbox, whether or not they need approval."""
    config = found.config
    tools = [SHELL] if is_unconfined(config) or _private_networks(network_of(config)) else []
    tools += [f"{name}_*" for name in enabled_servers(found)]
    tools += [ACP_TOOL] if any(one.enabled for one in config.acp_agents.values()) else []
    return tools + [tool.name for tool in config.tools if not tool.use.startswith(BUNDLED_TOOLS)]


def has_host_access(found: Installation) -> bool:
    """Return whether the agent can reach beyond its sandbox without approval."""
    return any(approval_of(found.config, tool) == WITHOUT_APPROVAL for tool in list_host_tools(found))


def check_agent(found: Installation) -> Iterator[SecurityFinding]:
    """Check the agent's tools and their execution environment."""
    yield from _check_sandbox(found.config)
    yield from _check_remote_sandbox(found.config)
    yield from _check_acp(found.config)
    yield from _check_mcp(found)
    yield from _check_models(found.config)


def _check_sandbox(config: Config) -> Iterator[SecurityFinding]:
    if not config.sandbox.enabled:
        return
    if is_unconfined(config):
        yield SecurityFinding(
            "sandbox-off",
            Severity.CRITICAL,
            "commands run without isolation (sandbox.isolation: none)",
            "Every member can have the agent read the service's secrets and data, and change its files.",
            "Remove sandbox.isolation, or set sandbox.enabled to false.",
        )
    network = network_of(config)
    if not network:
        return
    private, free = _private_networks(network), approval_of(config, SHELL) == WITHOUT_APPROVAL
    reach = "every public host" if network == PUBLIC else ", ".join(network)
    yield SecurityFinding(
        "sandbox-network",
        Severity.WARNING if free and (private or network == PUBLIC) else Severity.NOTE,
        f"commands can reach {reach} (sandbox.network)",
        "Services in these networks that trust local callers answer the agent."
        if private
        else "The agent can send what it has read there, for instance when a page tells it to.",
        "List only the hosts that are needed, require approval for bash, or set sandbox.network to false.",
    )


def network_of(config: Config) -> str | Sequence[str]:
    """Return the network available to commands: `public`, a list of hosts and networks, or "" for none."""
    network = config.sandbox.extra.get("network", False)
    if isinstance(network, list | tuple):
        return [str(one) for one in network]
    # true, in a file of an earlier version, means public.
    return "" if network in (False, None, "false") else PUBLIC if network is True else str(network)


def _private_networks(network: str | Sequence[str]) -> list[str]:
    """Return the entries that are addresses or networks, which may belong to a private network."""
    entries = [network] if isinstance(network, str) else network
    return [one for one in entries if _is_network(one)]


def _is_network(entry: str) -> bool:
    try:
        ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
    return True


def _check_remote_sandbox(config: Config) -> Iterator[SecurityFinding]:
    if not config.sandbox.enabled or config.sandbox.use != REMOTE_SANDBOX:
        return
    options = config.sandbox.extra_arguments()
    token = str(options.get("token") or "")
    if is_weak(token):
        yield SecurityFinding(
            "sandbox-token-weak",
            Severity.CRITICAL,
            f"sandbox.token is missing, shorter than {SHORT_SECRET} characters or copied from an example",
            "Whoever guesses it can run commands there and read the files of conversations.",
            "Generate one with `openssl rand -hex 32` for both services.",
        )
    if is_plain_http(str(options.get("url") or "")):
        yield SecurityFinding(
            "sandbox-http",
            Severity.WARNING,
            f"sandbox.url is {options['url']}, without TLS",
            "Commands, files and the token can be read and changed in transit.",
            "Use https, or a network that encrypts.",
        )


def _check_acp(config: Config) -> Iterator[SecurityFinding]:
    for name, agent in config.acp_agents.items():
        if not agent.enabled:
            continue
        automatic = agent.auto_approve_permissions
        yield SecurityFinding(
            "acp-automatic" if automatic else "acp-agent",
            Severity.CRITICAL if automatic else Severity.WARNING,
            f"the external agent {name} runs outside the sandbox"
            + (", and every permission that it asks for is granted" if automatic else ""),
            "It can do what the service's user can; members direct it through the agent.",
            f"Set acp_agents.{name}.auto_approve_permissions to false."
            if automatic
            else f"Add {ACP_TOOL} to guardrails.provider.ask, or run the service as its own user.",
        )


def _check_mcp(found: Installation) -> Iterator[SecurityFinding]:
    for name, server in enabled_servers(found).items():
        url = str(server.get("url") or "")
        if is_plain_http(url):
            secret = bool(server.get("headers") or server.get("oauth"))
            yield SecurityFinding(
                "mcp-http",
                Severity.CRITICAL if secret else Severity.WARNING,
                f"the MCP server {name} is called at {url}, without TLS",
                "Its credentials, calls and results can be read and changed in transit.",
                "Use an https address.",
            )
        if server.get("command") and approval_of(found.config, f"{name}_*") == WITHOUT_APPROVAL:
            yield SecurityFinding(
                "mcp-program",
                Severity.WARNING,
                f"the MCP server {name} is a program of the service's user, used without approval",
                "It runs outside the sandbox; members use all of its tools through the agent.",
                "Require approval for its tools (guardrails.provider.ask), or use a less privileged server.",
            )


def _check_models(config: Config) -> Iterator[SecurityFinding]:
    for model in config.models:
        for key in ("base_url", "openai_api_base", "anthropic_api_url", "endpoint"):
            url = str(model.extra.get(key) or "")
            if is_plain_http(url):
                yield SecurityFinding(
                    "model-http",
                    Severity.WARNING,
                    f"the model {model.name} is called at {url}, without TLS",
                    "Messages and the API key can be read in transit.",
                    "Use an https address, or a network that encrypts.",
                )
