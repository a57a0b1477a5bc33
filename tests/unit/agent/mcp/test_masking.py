"""What the API shows of servers holds no secret, and may be sent back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.config.extensions_file import FILE_NAME, ExtensionsSource
from agent.errors import Invalid
from agent.mcp.management import MASK, McpManagement, find_masked, mask_secrets, restore_secrets

SECRET = "s3cret-value"
STORED: dict[str, Any] = {
    "program": {
        "command": "tool",
        "args": [
            "--api-key",
            SECRET,
            "--port",
            "80",
            f"--token={SECRET}",
            f"API_KEY={SECRET}",
            "--key",
            "$K",
        ],
        "env": {"TOKEN": SECRET, "FROM": "$NAME", "EMPTY": ""},
        "description": "A program.",
    },
    "remote": {
        "type": "http",
        "url": f"https://me:{SECRET}@host/mcp?key={SECRET}&x=1",
        "headers": {"Authorization": f"Bearer {SECRET}", "X-Name": "$NAME"},
        "oauth": {
            "token_url": "https://t/x",
            "client_id": "bot",
            "client_secret": SECRET,
            "refresh_token": "$NAME",
        },
        "timeout_seconds": 5,
    },
}
ENV = {"NAME": "n", "K": "k"}


def management(folder: Path, servers: object = STORED) -> McpManagement:
    (folder / FILE_NAME).write_text(json.dumps({"mcpServers": servers, "skills": {"a": {}}}))
    return McpManagement(ExtensionsSource(environ=ENV, cwd=folder))


def stored(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / FILE_NAME).read_text())
    assert found["skills"] == {"a": {}}, "the rest of the file stays"
    return found["mcpServers"]  # type: ignore[no-any-return]


async def test_secrets_are_hidden(tmp_path: Path) -> None:
    found = (await management(tmp_path).get_mcp_config()).model_dump()["mcp_servers"]
    assert SECRET not in json.dumps(found)
    program, remote = found["program"], found["remote"]
    assert program["args"] == [
        *("--api-key", MASK, "--port", "80", f"--token={MASK}", f"API_KEY={MASK}", "--key", "$K")
    ]
    assert program["env"] == {"TOKEN": MASK, "FROM": "$NAME", "EMPTY": ""}
    assert (program["type"], program["enabled"], program["description"]) == ("stdio", True, "A program.")
    assert remote["url"] == "https://***@host/mcp?key=***&x=***"
    assert remote["headers"] == {"Authorization": MASK, "X-Name": "$NAME"}
    assert (remote["oauth"]["client_secret"], remote["oauth"]["refresh_token"]) == (MASK, "$NAME")
    assert (remote["oauth"]["client_id"], remote["timeout_seconds"]) == ("bot", 5.0)


async def test_what_was_shown_may_be_sent_back(tmp_path: Path) -> None:
    servers = management(tmp_path)
    found = (await servers.get_mcp_config()).model_dump()["mcp_servers"]
    assert (await servers.replace_mcp_config(found)).model_dump()["mcp_servers"] == found
    assert stored(tmp_path) == STORED, "nothing is added, and nothing lost"


OTHERS: dict[str, Any] = {
    "off": {"command": "x", "cwd": "/srv", "env": {"TOKEN": SECRET}, "disabled": True, "alwaysAllow": ["a"]},
    "web": {"type": "streamable-http", "url": "https://host/mcp", "headers": {"Authorization": SECRET}},
}


async def test_entries_of_other_clients_are_shown_and_stored_as_ours(tmp_path: Path) -> None:
    servers = management(tmp_path, OTHERS)
    found = (await servers.get_mcp_config()).model_dump()["mcp_servers"]
    assert (found["off"]["enabled"], found["off"]["cwd"], found["web"]["type"]) == (False, "/srv", "http")
    assert (await servers.replace_mcp_config(found)).model_dump()["mcp_servers"] == found
    now = stored(tmp_path)
    assert now["off"] == {"command": "x", "cwd": "/srv", "env": {"TOKEN": SECRET}, "enabled": False}
    assert now["web"]["headers"] == {"Authorization": SECRET}


async def test_a_server_that_is_disabled_can_be_enabled(tmp_path: Path) -> None:
    servers = management(tmp_path, OTHERS)
    await servers.switch_mcp_server("off", enabled=True)
    assert stored(tmp_path)["off"] == {
        **{key: value for key, value in OTHERS["off"].items() if key != "disabled"},
        "enabled": True,
    }


async def test_a_published_file_is_taken_as_it_is(tmp_path: Path) -> None:
    servers = management(tmp_path)
    after = await servers.replace_mcp_config({"mcpServers": OTHERS})
    assert list(after.mcp_servers) == ["off", "web"]
    assert stored(tmp_path)["web"]["type"] == "http"


async def test_a_secret_does_not_follow_to_another_folder(tmp_path: Path) -> None:
    servers = management(tmp_path, OTHERS)
    found = (await servers.get_mcp_config()).model_dump()["mcp_servers"]
    found["off"]["cwd"] = "/elsewhere"
    with pytest.raises(Invalid, match=r"mcp_servers\.off\.env.*no stored secret for this hidden value"):
        await servers.replace_mcp_config(found)


async def test_one_thing_is_changed_and_the_rest_stays(tmp_path: Path) -> None:
    servers = management(tmp_path)
    found = (await servers.get_mcp_config()).model_dump()["mcp_servers"]
    found["program"]["enabled"] = False
    found["program"]["env"]["MORE"] = "x"
    del found["program"]["env"]["EMPTY"]
    found["remote"]["headers"]["Authorization"] = "Bearer other"
    after = (await servers.replace_mcp_config(found)).model_dump()["mcp_servers"]
    assert after["program"]["enabled"] is False
    now = stored(tmp_path)
    assert now["program"] == {
        **STORED["program"],
        "enabled": False,
        "env": {"TOKEN": SECRET, "FROM": "$NAME", "MORE": "x"},
    }
    assert now["remote"]["headers"] == {"Authorization": "Bearer other", "X-Name": "$NAME"}
    assert now["remote"]["url"] == STORED["remote"]["url"]


async def test_servers_come_and_go(tmp_path: Path) -> None:
    servers = management(tmp_path)
    after = await servers.replace_mcp_config({"new": {"command": "x", "args": ["--token", "t"]}})
    assert list(after.mcp_servers) == ["new"]
    assert after.mcp_servers["new"].args == ["--token", MASK]
    assert stored(tmp_path) == {"new": {"command": "x", "args": ["--token", "t"]}}


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://elsewhere/mcp?key=***&x=***"},
        {"url": "https://elsewhere/mcp"},
        {"type": "sse"},
    ],
)
async def test_a_secret_does_not_follow_to_another_place(tmp_path: Path, change: dict[str, str]) -> None:
    servers = management(tmp_path)
    found = (await servers.get_mcp_config()).model_dump()["mcp_servers"]
    found["remote"] |= change
    with pytest.raises(Invalid, match=r"mcp_servers\.remote\..*no stored secret for this hidden value"):
        await servers.replace_mcp_config(found)
    assert stored(tmp_path) == STORED


async def test_a_mask_that_stands_for_nothing(tmp_path: Path) -> None:
    servers = management(tmp_path)
    for name, entry in (
        ("new", {"command": "x", "env": {"A": MASK}}),
        ("program", {"command": "other", "env": {"TOKEN": MASK}}),
        ("program", {"command": "tool", "args": ["a", "b", "c", "d", "e", "f", "g", "h", MASK]}),
    ):
        with pytest.raises(Invalid, match="hidden value"):
            await servers.replace_mcp_config({name: entry})


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        ({"x": {"comand": "y"}}, "mcpServers.x.comand: unknown key"),
        ({"x": {}}, "needs url"),
        ({"x": 5}, "expected a mapping"),
        ({"a b": {"command": "y"}}, "is not a valid server name"),
        ({"x": {"command": "y", "env": {"A": "$UNSET_NAME"}}}, "UNSET_NAME is not set"),
    ],
)
async def test_what_does_not_fit_changes_nothing(tmp_path: Path, servers: Any, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        await management(tmp_path).replace_mcp_config(servers)
    assert told in str(caught.value)
    assert stored(tmp_path) == STORED


texts = st.text(st.characters(codec="ascii", exclude_characters="$"), min_size=1, max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(texts, texts, max_size=3),
    st.lists(st.sampled_from(["--token", "--port", "-k", "x", "--api-key=y", "A=b"]) | texts, max_size=5),
    st.text(max_size=30),
)
def test_the_whole_way_and_back_loses_nothing(env: dict[str, str], args: list[str], url: str) -> None:
    server = {"env": env, "headers": env, "args": args, "url": url}
    seen = mask_secrets(server)
    assert restore_secrets(json.loads(json.dumps(seen)), server, seen) == server
    assert all(value == MASK for value in seen["env"].values())


def test_where_a_mask_is_left() -> None:
    assert find_masked({"a": {"b": ["x", MASK]}}, "s") == "s.a.b[1]"
    assert find_masked({"a": {"b": ["x", 1]}, "c": None}, "s") is None
