"""The passport: what the agent may do, within which limits."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel

from agent.catalog.preflight import refused
from agent.config.loader import load_agent_config
from agent.core.run_context import RunContext
from agent.errors import GuardrailUnavailable
from agent.guardrails import Allow, Ask, Deny, PolicyProvider, SettingsError, ToolRequest
from agent.guardrails.providers import load_guardrail
from agent.middleware.guardrail import GuardrailMiddleware
from tests.harness.agents import calls, chain, say, says, scripted, texts
from tests.unit.agent.middleware.test_guardrail import delete

PASSPORT: dict[str, Any] = {
    "spec_version": "oap/1.0",
    "status": "active",
    "capabilities": [
        {"id": "web.fetch", "tools": ["web_*"]},
        {"id": "system.command.execute", "tools": ["bash"], "roles": ["owner", "admin"]},
        {"id": "mail.send", "tools": ["mail_send"], "require_approval": True},
        {"id": "data.file.delete", "tools": ["delete"]},
    ],
    "limits": {
        "system.command.execute": {
            "allowed": {"command": ["git *", "ls*"]},
            "blocked": {"command": ["*sudo*"]},
        },
        "data.file.delete": {"blocked": {"path": ["/mnt/user-data/uploads/*"]}},
    },
}


async def decision(tool: str, *roles: str, policy: Any = PASSPORT, **args: Any) -> Any:
    request = ToolRequest(tool, args, "c1", RunContext(roles=roles))
    return await PolicyProvider(policy, now=lambda: datetime(2026, 11, 22, tzinfo=UTC)).evaluate(request)


@pytest.mark.parametrize(
    ("tool", "roles", "args", "expected"),
    [
        ("web_search", (), {}, Allow),
        ("bash", ("admin",), {"command": "git status"}, Allow),
        ("bash", ("member",), {"command": "git status"}, "role_not_allowed"),
        ("bash", (), {"command": "git status"}, "role_not_allowed"),
        ("bash", ("owner",), {"command": "rm -rf /"}, "limit_exceeded"),
        ("bash", ("owner",), {"command": "git log; sudo ls"}, "limit_exceeded"),
        ("bash", ("owner",), {}, "argument_missing"),
        ("mail_send", (), {}, Ask),
        ("delete", (), {"path": "/mnt/user-data/outputs/a"}, Allow),
        ("delete", (), {"path": "/mnt/user-data/uploads/a"}, "limit_exceeded"),
        ("other", ("owner",), {}, "tool_not_allowed"),
    ],
)
async def test_capabilities_roles_and_limits(tool: str, roles: Any, args: Any, expected: Any) -> None:
    found = await decision(tool, *roles, **args)
    if isinstance(expected, str):
        assert isinstance(found, Deny)
        assert found.code == expected
    else:
        assert isinstance(found, expected)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"status": "suspended"}, "passport_not_active"),
        ({"expires_at": "2026-11-21T00:00:00Z"}, "passport_expired"),
        ({"expires_at": "2026-11-21T00:00:00"}, "passport_expired"),
    ],
)
async def test_a_passport_that_does_not_count_any_more(change: dict[str, str], code: str) -> None:
    assert (await decision("web_search", policy=PASSPORT | change)).code == code
    assert isinstance(
        await decision("web_search", policy=PASSPORT | {"expires_at": "2027-01-01T00:00:00Z"}), Allow
    )


def test_what_denies_every_call_is_known_before() -> None:
    moment = datetime(2026, 11, 22, tzinfo=UTC)

    def warned(change: dict[str, str]) -> list[Any]:
        return [path for path, _ in PolicyProvider(PASSPORT | change, now=lambda: moment).warnings()]

    assert warned({}) == warned({"expires_at": "2026-11-22T00:00:01Z"}) == []
    assert warned({"expires_at": "2026-11-22T00:00:00Z"}) == [("policy", "expires_at")]
    assert warned({"status": "suspended"}) == [("policy", "status")]


async def test_of_several_capabilities_the_one_that_allows_most_counts() -> None:
    more = [*PASSPORT["capabilities"], {"id": "shell.read", "tools": ["bash"], "require_approval": True}]
    policy = PASSPORT | {"capabilities": more}
    assert isinstance(await decision("bash", "member", policy=policy, command="ls"), Ask)
    assert isinstance(await decision("bash", "admin", policy=policy, command="ls"), Allow)


async def test_a_file_is_read_again_when_it_changes_and_denies_when_it_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "passport.yaml"
    path.write_text(yaml.safe_dump(PASSPORT))
    guardrail = GuardrailMiddleware(provider=await asyncio.to_thread(PolicyProvider, path))

    async def told() -> str:
        model = scripted(calls("delete", path="x"), says("ok"))
        return texts(await say(chain(model, guardrail, tools=[delete]), "go"))[2]

    assert await told() == "deleted x"
    path.unlink()
    assert "permission check" in await told()
    path.write_text(yaml.safe_dump(PASSPORT))
    assert await told() == "deleted x"
    path.write_text(yaml.safe_dump(PASSPORT | {"status": "revoked"}))
    assert "passport is revoked" in await told()
    path.write_text("capabilities: [{id: x}]")
    assert "permission check" in await told()


class Checked(BaseModel):
    """A provider whose settings pydantic checks."""

    level: int
    kind: Literal["a", "b"]


PAY = {"capabilities": [{"id": "money", "tools": ["pay"]}]}


@pytest.mark.parametrize("kind", ["blocked", "allowed"])
async def test_a_limit_on_an_argument_that_the_call_lacks_denies_it(kind: str) -> None:
    policy = PAY | {"limits": {"money": {kind: {"amont": ["9*"]}}}}
    found = await decision("pay", policy=policy, amount="999")
    assert isinstance(found, Deny)
    assert (found.code, "amont" in found.reason) == ("argument_missing", True)
    assert isinstance(await decision("pay", policy=policy, amont="1" if kind == "blocked" else "9"), Allow)


async def test_a_role_that_only_a_program_of_ones_own_gives_is_no_mistake() -> None:
    policy = {"capabilities": [{"id": "money", "tools": ["pay"], "roles": ["king"]}]}
    assert (await decision("pay", "owner", policy=policy)).code == "role_not_allowed"
    assert isinstance(await decision("pay", "king", policy=policy), Allow)


@pytest.mark.parametrize(
    ("change", "told", "at"),
    [
        (
            {"limits": {"mony": {"blocked": {"amount": ["9*"]}}}},
            "limits.mony: no capability has this id; known: money",
            ("limits", "mony"),
        ),
        (
            {"limits": {"money": {"bloked": {}}}},
            r"limits\.money\.bloked: unknown key; did you mean blocked\?",
            ("limits", "money", "bloked"),
        ),
        ({"limit": {}}, r"limit: unknown key; did you mean limits\?", ("limit",)),
        (
            {"expires_at": "soon"},
            "expires_at: expected a time such as 2027-06-30T00:00:00Z",
            ("expires_at",),
        ),
        (
            {"capabilities": [{"id": "x", "tool": ["pay"]}]},
            r"capabilities\[0\]\.tools: is missing; add it; "
            r"capabilities\[0\]\.tool: unknown key; did you mean tools\?",
            ("capabilities", 0, "tools"),
        ),
        (
            {"capabilities": [{"id": "x", "tools": "pay"}]},
            r"capabilities\[0\]\.tools: expected a list, got a string",
            ("capabilities", 0, "tools"),
        ),
        (
            {"capabilities": [{"id": "x", "tools": []}]},
            r"capabilities\[0\]\.tools: expected at least one",
            ("capabilities", 0, "tools"),
        ),
    ],
)
def test_a_mapping_that_is_no_passport_is_refused_and_told_by_place(
    tmp_path: Path, change: dict[str, Any], told: str, at: tuple[str | int, ...]
) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        PolicyProvider(PAY | change)
    assert caught.value.at == ("policy", *at)
    path = tmp_path / "passport.yaml"
    path.write_text(yaml.safe_dump(PAY | change))
    with pytest.raises(SettingsError, match=f"passport.yaml: {told}"):
        PolicyProvider(path)


def test_a_key_of_another_reader_of_the_file_is_left_to_it() -> None:
    others = ["spec_version", "passport_id", "issued_at", "created_at", "updated_at", "metadata", "kind"]
    PolicyProvider(PAY | dict.fromkeys(others, "x"))


def test_what_is_wrong_is_told_on_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "config_version: 1\n"
        "guardrails:\n"
        "  enabled: true\n"
        "  provider:\n"
        "    use: agent.guardrails:PolicyProvider\n"
        "    policy:\n"
        "      capabilities:\n"
        "        - id: money\n"
        "          tools: [pay]\n"
        "      limits:\n"
        "        mony: {blocked: {amount: ['9*']}}\n"
    )
    [found] = refused(load_agent_config(path, {}, tmp_path))
    assert str(found).startswith("config.yaml:11: guardrails.provider.policy.limits.mony: ")
    assert "known: money. Correct guardrails.provider" in str(found)
    path.write_text(path.read_text().replace("mony: {blocked", "money: {bloked"))
    [found] = refused(load_agent_config(path, {}, tmp_path))
    assert "did you mean blocked? Correct guardrails.provider" in str(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "policy: .*passport.yaml: No such file or directory"),
        ("[", "policy: .*passport.yaml is not YAML"),
        ("capabilities: [{id: x}]", r"capabilities\[0\]\.tools: is missing"),
    ],
)
def test_a_file_that_is_no_passport_is_told_when_it_is_named(
    tmp_path: Path, text: str | None, told: str
) -> None:
    path = tmp_path / "passport.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(GuardrailUnavailable, match=told):
        load_guardrail("agent.guardrails:PolicyProvider", {"policy": str(path)})


def test_a_provider_is_loaded_by_name() -> None:
    provider = load_guardrail("agent.guardrails:AllowlistProvider", {"allowed": ["a"]})
    assert provider.__class__.__name__ == "AllowlistProvider"


@pytest.mark.parametrize(
    ("use", "settings", "why"),
    [
        ("no_such_package:Guard", {}, "There is no module no_such_package"),
        ("agent.guardrails:Nothing", {}, "has no Nothing"),
        (
            "agent.guardrails:AllowlistProvider",
            {"allowed": "secret"},
            "are invalid: `allowed` must be a list",
        ),
        ("agent.guardrails:AllowlistProvider", {"denied": None}, "are invalid: `denied` must be a list"),
        (
            "agent.guardrails:AllowlistProvider",
            {"wrong": "secret"},
            "are invalid: unknown key wrong; known: allowed, denied, ask",
        ),
        ("agent.guardrails:PolicyProvider", {}, "are invalid: missing key policy; known: policy"),
        (
            "agent.guardrails:PolicyProvider",
            {"policy": {"capabilities": [{"id": "secret", "tools": []}]}},
            r"are invalid: capabilities\[0\]\.tools: expected at least one",
        ),
        (
            "tests.unit.agent.guardrails.test_passport:Checked",
            {"level": "secret", "kind": "secret"},
            r"are invalid: level: Input should be a valid integer.*; kind: invalid \(literal_error\)",
        ),
        ("os:sep", {"key": "secret"}, r"are invalid \(TypeError\)"),
        ("agent.core.run_context:RunContext", {}, "no method evaluate"),
    ],
)
def test_a_provider_that_can_not_be_made_says_why(use: str, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(GuardrailUnavailable, match=why) as caught:
        load_guardrail(use, settings)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("settings", [{}, {"allowed": None}, {"denied": []}, {"denied": [], "ask": []}])
def test_a_configured_list_that_is_none_is_refused_and_says_what_to_write(settings: dict[str, Any]) -> None:
    with pytest.raises(GuardrailUnavailable, match=r"set `allowed` .* in guardrails\.provider"):
        load_guardrail("agent.middleware.guardrail:AllowlistProvider", settings)


async def test_an_empty_list_of_allowed_ones_is_a_list() -> None:
    provider = load_guardrail("agent.guardrails:AllowlistProvider", {"allowed": []})
    request = ToolRequest("delete", {}, "c1")
    assert isinstance(await provider.evaluate(request), Deny)  # type: ignore[misc]


class Open:
    """A provider that takes whatever it is given, and refuses some of it itself."""

    def __init__(self, **settings: Any) -> None:
        if "level" in settings:
            raise SettingsError("`level` is not used any more; write `roles`.")

    def evaluate(self, _: ToolRequest, /) -> Allow:
        return Allow()


def test_a_provider_says_itself_what_is_wrong_with_its_settings() -> None:
    use = "tests.unit.agent.guardrails.test_passport:Open"
    assert type(load_guardrail(use, {"anything": 1})).__name__ == "Open"
    with pytest.raises(
        GuardrailUnavailable, match=r"are invalid: `level` is not used any more; write `roles`\.$"
    ):
        load_guardrail(use, {"level": 3})
