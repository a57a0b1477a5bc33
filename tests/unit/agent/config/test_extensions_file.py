"""`extensions_config.json`: found, read strictly, reloaded when it changes, written in one step."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agent.config.document import ConfigDocument, parse_json
from agent.config.errors import ConfigErrors
from agent.config.extensions import Extensions
from agent.config.extensions_file import (
    FILE_NAME,
    PATH_VARIABLE,
    ExtensionsFile,
    ExtensionsSource,
    check_extensions,
)
from agent.shared.last_good import CHECK_SECONDS

STDIO = {"command": "mcp-server-time", "args": ["--local-timezone", "UTC"]}
HTTP = {"url": "https://mcp.example/mcp?key=1", "headers": {"Authorization": "$MCP_TOKEN"}}


slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def written(folder: Path, data: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def read(folder: Path, data: object, env: Mapping[str, str] | None = None) -> Extensions:
    written(folder, data)
    return ExtensionsFile(None, env or {}, folder).read_file().config


def refused(folder: Path, data: object, env: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigErrors) as caught:
        read(folder, data, env)
    return str(caught.value)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    file = ExtensionsFile(None, {}, tmp_path / "a")
    assert (file.read_file().config, file.read_stamp()) == (Extensions(), None)


def test_it_is_found_as_the_configuration_is(tmp_path: Path) -> None:
    below = tmp_path / "below"
    written(tmp_path, {"skills": {"parent": {}}})
    below.mkdir()
    names = lambda *a: list(ExtensionsFile(*a).read_file().config.skills)  # noqa: E731
    assert names(None, {}, below) == ["parent"]
    written(below, {"skills": {"own": {}}})
    assert names(None, {}, below) == ["own"]
    named = written(tmp_path / "named", {"skills": {"named": {}}})
    assert names(None, {PATH_VARIABLE: str(named)}, below) == ["named"]
    given_path = written(tmp_path / "given", {"skills": {"given": {}}})
    assert names(given_path, {PATH_VARIABLE: str(named)}, below) == ["given"]


@pytest.mark.parametrize(
    ("named", "message"),
    [("nowhere.json", f"there is no such file; {PATH_VARIABLE} names it"), (".", "is a folder")],
)
def test_a_name_that_leads_nowhere_is_an_error(tmp_path: Path, named: str, message: str) -> None:
    with pytest.raises(ConfigErrors, match=message):
        ExtensionsFile(None, {PATH_VARIABLE: named}, tmp_path).read_file()


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"mcpServers": null, "skills": null}'])
def test_an_empty_one_is_valid(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == Extensions()


def test_servers_of_each_transport(tmp_path: Path) -> None:
    servers = {"time": STDIO, "remote": HTTP, "older": {"type": "sse", "url": "http://127.0.0.1:1/sse"}}
    config = read(tmp_path, {"mcpServers": servers}, {"MCP_TOKEN": "Bearer s3cret"})
    assert [server.transport for server in config.mcpServers.values()] == ["stdio", "http", "sse"]
    assert config.mcpServers["remote"].headers["Authorization"].get_secret_value() == "Bearer s3cret"
    assert config.mcpServers["time"].args == ("--local-timezone", "UTC")
    assert "s3cret" not in repr(config)
    assert config.mcpServers["time"].scope == "thread"


PUBLISHED: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"type": "streamable-http", "url": "https://x/mcp"}, {"transport": "http"}, []),
    (
        {"type": "streamableHttp", "url": "https://x/mcp", "disabled": False, "autoApprove": ["a"]},
        {"transport": "http", "enabled": True},
        ["autoApprove"],
    ),
    ({"type": "streamable_http", "url": "https://x/mcp", "timeout": 60}, {"transport": "http"}, ["timeout"]),
    ({"type": "http", "url": "https://x/mcp", "headers": {}}, {"transport": "http"}, []),
    ({"type": "sse", "url": "https://x/sse"}, {"transport": "sse"}, []),
    ({"transport": "streamable-http", "url": "https://x/mcp"}, {"transport": "http"}, []),
    ({"httpUrl": "https://x/mcp", "trust": True}, {"url": "https://x/mcp"}, ["trust"]),
    ({"serverUrl": "https://x/mcp"}, {"url": "https://x/mcp", "transport": "http"}, []),
    (
        {**STDIO, "cwd": "~/project", "alwaysAllow": [], "disabled": True},
        {"cwd": "~/project", "enabled": False},
        ["alwaysAllow"],
    ),
    ({"type": "stdio", **STDIO, "disabled": True, "env": {"A": "$UNSET"}}, {"enabled": False}, []),
]


@pytest.mark.parametrize(("entry", "expected", "ignored"), PUBLISHED)
def test_entries_as_servers_publish_them(
    tmp_path: Path, entry: dict[str, Any], expected: dict[str, Any], ignored: list[str]
) -> None:
    with capture_logs() as logs:
        [server] = read(tmp_path, {"mcpServers": {"x": entry}}).mcpServers.values()
    assert {key: getattr(server, key) for key in expected} == expected
    assert [(line["server"], line["keys"]) for line in logs] == ([("x", ignored)] if ignored else [])


def test_a_skill_that_is_not_named_is_on(tmp_path: Path) -> None:
    config = read(tmp_path, {"skills": {"a": {"enabled": False}, "b": {}}})
    assert [config.is_skill_enabled(name) for name in "abc"] == [False, True, True]


BAD: list[tuple[Any, str]] = [
    ("{", "extensions_config.json:1: is not valid JSON: Expecting property name"),
    ('{"a": 1,\n,}', ":2: is not valid JSON"),
    ("{} x", "is not valid JSON: Extra data"),
    ("# note\n{}", "is not valid JSON"),
    ("[]", "expected a mapping"),
    ('{"skills": NaN}', "NaN is not a JSON number"),
    ('{"skills": {}, "skills": {}}', "the key 'skills' appears twice"),
    ("[" * 60_000 + "]" * 60_000, "nested too deeply"),
    ('{\n "servers": {}}', ":2: servers: unknown key"),
    ('{\n\t"mcpServers": {\n\t\t"x": {\n\t\t\t"comand": "y"}}}', ":4: mcpServers.x.comand: unknown key"),
    ({"mcpServers": {"x": {}}}, "a server of the type http needs url"),
    ({"mcpServers": {"x": {"type": "stdio"}}}, "a server of the type stdio needs command"),
    ({"mcpServers": {"x": {"command": "y", "url": "http://z"}}}, "takes no url"),
    ({"mcpServers": {"x": {"url": "http://z", "args": ["a"]}}}, "takes no args"),
    ({"mcpServers": {"x": {"type": "ws", "url": "http://z"}}}, "expected stdio, sse or http"),
    ({"mcpServers": {"x": {"url": "ftp://z"}}}, "expected an address"),
    ({"mcpServers": {"x": {"url": "http://z", "cwd": "/"}}}, "takes no cwd"),
    ({"mcpServers": {"x": {"url": "http://z", "httpUrl": "http://y"}}}, "x.httpUrl: unknown key"),
    ({"mcpServers": {"x": {**STDIO, "enabled": True, "disabled": True}}}, "x.disabled: unknown key"),
    ({"mcpServers": {"a b": STDIO}}, "is not a valid server name"),
    ({"mcpServers": {"x": {**STDIO, "args": "all"}}}, "expected a list"),
    ({"mcpServers": {"x": {**STDIO, "env": {"A": 1}}}}, "mcpServers.x.env.A: expected a string"),
    ({"mcpServers": {"x": {**STDIO, "enabled": "yes"}}}, "expected true or false"),
    ({"mcpServers": {"x": {**STDIO, "timeout_seconds": 0}}}, "expected more than 0"),
    ({"mcpServers": {"x": {"url": "http://z", "headers": {"A": "b\r\nC: d"}}}}, "a single line of text"),
    ({"mcpServers": {"x": HTTP}}, "the environment variable MCP_TOKEN is not set"),
    ({"skills": {"a": {"enabled": 1}}}, "skills.a.enabled: expected true or false"),
    ({"skills": {"a": False}}, "skills.a: expected a mapping"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_what_does_not_fit_is_told_with_its_place(tmp_path: Path, data: Any, message: str) -> None:
    assert message in refused(tmp_path, data)


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        ({"token_url": "http://t/x"}, "needs client_id and client_secret"),
        ({"token_url": "http://t/x", "grant_type": "refresh_token"}, "needs refresh_token"),
        ({"client_id": "a"}, "grant_type client_credentials needs token_url; add it"),
        (
            {"token_url": "http://t/x", "grant_type": "password"},
            "client_credentials, refresh_token or authorization_code",
        ),
    ],
)
def test_a_grant_has_what_it_needs(tmp_path: Path, oauth: object, message: str) -> None:
    assert message in refused(tmp_path, {"mcpServers": {"x": {"url": "http://z", "oauth": oauth}}})


def test_what_a_server_that_is_off_lacks_does_not_matter(tmp_path: Path) -> None:
    config = read(tmp_path, {"mcpServers": {"x": {**HTTP, "enabled": False}, "y": {"enabled": False}}})
    assert [server.enabled for server in config.mcpServers.values()] == [False, False]


def test_an_error_never_shows_a_secret(tmp_path: Path) -> None:
    server = {"url": "http://z", "headers": {"Authorization": "Bearer s3cret\n"}, "oauth": {"x": "s3cret"}}
    assert "s3cret" not in refused(tmp_path, {"mcpServers": {"x": server}})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@slowly
@given(st.dictionaries(st.sampled_from(["mcpServers", "skills", "other"]), values, max_size=3))
def test_whatever_stands_there_is_read_or_refused(data: dict[str, Any]) -> None:
    try:
        assert isinstance(check_extensions(ConfigDocument("x.json", data), {}), Extensions)
    except ConfigErrors as error:
        assert error.errors and str(error)


@slowly
@given(st.dictionaries(st.text(max_size=6), values, max_size=3))
def test_json_is_read_as_json(data: dict[str, Any]) -> None:
    for text in (json.dumps(data), json.dumps(data, indent="\t", ensure_ascii=False)):
        assert parse_json(text, "x.json").data == data


def test_a_change_is_written_in_one_step(tmp_path: Path) -> None:
    path = written(tmp_path, {"mcpServers": {"t": {**HTTP}}, "skills": {"ä": {}}})
    path.chmod(0o640)
    loaded = ExtensionsFile(None, {"MCP_TOKEN": "x"}, tmp_path).change_file(
        lambda data: data["skills"].update(b={"enabled": False})
    )
    assert not loaded.config.is_skill_enabled("b")
    stored = json.loads(path.read_text())
    assert stored == {"mcpServers": {"t": HTTP}, "skills": {"ä": {}, "b": {"enabled": False}}}
    assert list(stored) == ["mcpServers", "skills"], "the order of the file"
    assert "ä" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]


def test_a_file_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    ExtensionsFile(None, {}, tmp_path).change_file(lambda data: data.update(skills={"a": {"enabled": False}}))
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = written(tmp_path / "real", {})
    link = tmp_path / FILE_NAME
    link.symlink_to(real)
    ExtensionsFile(None, {}, tmp_path).change_file(lambda data: data.update(skills={"a": {}}))
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"skills": {"a": {}}}


def test_a_change_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, {"skills": {}})
    before = path.read_bytes()
    with pytest.raises(ConfigErrors, match="unknown key"):
        ExtensionsFile(None, {}, tmp_path).change_file(lambda data: data.update(skils={}))
    assert path.read_bytes() == before


def test_a_folder_that_takes_nothing_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = written(tmp_path, {})
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConfigErrors, match=f"No space left on device; .*{PATH_VARIABLE}"):
        ExtensionsFile(None, {}, tmp_path).change_file(lambda data: data.update(skills={}))
    assert path.read_text() == "{}"
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME], "nothing half is left"


async def test_the_current_one_follows_the_file(tmp_path: Path) -> None:
    time = Time()
    path = written(tmp_path, {"skills": {"a": {}}})
    source = ExtensionsSource(environ={}, cwd=tmp_path, clock=time)
    first = await source.get_extensions()
    assert await source.get_extensions() is first
    path.write_text('{"skills": {"a": {}, "b": {}}}')
    assert await source.get_extensions() is first, "looked at once a second"
    time.now += CHECK_SECONDS
    assert list((await source.get_extensions()).skills) == ["a", "b"]
    path.unlink()
    source.expire()
    assert not (await source.get_extensions()).skills


async def test_the_last_good_one_is_kept_and_told_once(tmp_path: Path) -> None:
    time = Time()
    path = written(tmp_path, {"skills": {"a": {}}})
    source = ExtensionsSource(environ={}, cwd=tmp_path, clock=time)
    good = await source.get_extensions()
    path.write_text('{"skills": [')
    with capture_logs() as logs:
        for _ in range(3):
            time.now += CHECK_SECONDS
            assert await source.get_extensions() is good
    assert [entry["event"] for entry in logs] == ["extensions_kept"]
    path.write_text('{"skills": {}}')
    time.now += CHECK_SECONDS
    assert not (await source.get_extensions()).skills


async def test_the_same_content_is_the_same_object(tmp_path: Path) -> None:
    time = Time()
    path = written(tmp_path, {"skills": {"a": {}}})
    source = ExtensionsSource(environ={}, cwd=tmp_path, clock=time)
    first = await source.get_extensions()
    path.write_text('{ "skills": {"a": {}} }')
    time.now += CHECK_SECONDS
    assert await source.get_extensions() is first


async def test_a_start_with_a_bad_file_stops(tmp_path: Path) -> None:
    written(tmp_path, "[")
    with pytest.raises(ConfigErrors):
        await ExtensionsSource(environ={}, cwd=tmp_path).get_extensions()


async def test_a_write_is_seen_at_once_by_every_source_of_the_process(tmp_path: Path) -> None:
    one, other = (ExtensionsSource(environ={}, cwd=tmp_path, clock=Time()) for _ in range(2))
    assert (await other.get_extensions()).is_skill_enabled("a")
    await one.change_file(lambda data: data.update(skills={"a": {"enabled": False}}))
    assert not (await one.get_extensions()).is_skill_enabled("a")
    assert not (await other.get_extensions()).is_skill_enabled("a")


async def test_changes_at_the_same_time_all_stay(tmp_path: Path) -> None:
    import asyncio

    sources = [ExtensionsSource(environ={}, cwd=tmp_path) for _ in range(4)]

    async def add(number: int) -> None:
        def change(data: dict[str, Any]) -> None:
            data.setdefault("skills", {})[f"s{number}"] = {"enabled": False}

        await sources[number % 4].change_file(change)

    await asyncio.gather(*map(add, range(24)))
    assert len(json.loads((tmp_path / FILE_NAME).read_text())["skills"]) == 24


def test_a_reader_never_sees_half_of_it(tmp_path: Path) -> None:
    file = ExtensionsFile(None, {}, tmp_path)
    file.change_file(lambda data: data.update(skills={}))
    stop = threading.Event()
    bad: list[Exception] = []

    def reads() -> None:
        while not stop.is_set():
            try:
                file.read_file()
            except ConfigErrors as error:
                bad.append(error)

    reader = threading.Thread(target=reads, daemon=True)
    reader.start()
    try:
        for number in range(30):
            file.change_file(
                lambda data, n=number: data.update(skills={f"s{n}-{i}": {} for i in range(n * 5)})
            )
    finally:
        stop.set()
        reader.join()
    assert not bad


async def test_without_a_file_changes_last_as_long_as_the_source(tmp_path: Path) -> None:
    written(tmp_path, {"skills": {"a": {"enabled": False}}})
    source = ExtensionsSource(read_file=False, environ={}, cwd=tmp_path)
    assert (await source.get_extensions()).is_skill_enabled("a")
    await source.change_file(lambda data: data.update(skills={"b": {"enabled": False}}))
    assert not (await source.get_extensions()).is_skill_enabled("b")
    with pytest.raises(ConfigErrors):
        await source.change_file(lambda data: data.update(wrong=1))
    assert not (await source.get_extensions()).is_skill_enabled("b")
    assert json.loads((tmp_path / FILE_NAME).read_text()) == {"skills": {"a": {"enabled": False}}}
