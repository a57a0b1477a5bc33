"""The management routes over real HTTP: models, uploads, artifacts, local data."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from agent.catalog.source import ModelSource, find_source
from agent.config.errors import ConfigErrors
from agent.config.extensions_file import ExtensionsSource
from agent.core.schemas import ErrorBody, Health, ModelProbe, UploadList, UploadResult
from agent.errors import ModelUnavailable, ToolUnavailable
from agent.lead import make_lead_agent
from agent.management.check.report import report
from agent.management.routes import management_routes
from agent.management.routes.base import ManagementRoute
from agent.shared.schemas import (
    AgentInfo,
    AgentList,
    ConfigReport,
    DeletionResult,
    ModelInfo,
    ModelList,
    OperationResult,
)
from tests.harness.local_server import served

THREAD = "0191d0a2-0000-7000-8000-000000000001"
CONFIG = """
limits: {file_mb: 1}
tool_groups: [{name: web}]
models:
  - {name: gpt, display_name: GPT, use: "roebot_testing.agent:ScriptedChatModel", model: gpt-x,
     supports_vision: true}
  - {name: vendor/small, use: "roebot_testing.agent:ScriptedChatModel", supports_tools: false}
  - {name: broken, use: "roebot_testing.agent:ScriptedChatModel", script: {fail: auth}}
  - {name: missing, use: "no_such_provider:Chat"}
"""


@pytest.fixture
async def client(home: Path, config: Path) -> AsyncIterator[httpx.AsyncClient]:
    async def broken() -> None:
        raise RuntimeError("secret detail")

    routes = await asyncio.to_thread(management_routes, home, config)
    routes.append(ManagementRoute("/broken", broken, methods=["GET"]))
    async with served(routes) as http:
        yield http


async def put(client: httpx.AsyncClient, *files: tuple[str, bytes], thread: str = THREAD) -> httpx.Response:
    return await client.post(
        f"/api/threads/{thread}/uploads", files=[("files", (name, data)) for name, data in files]
    )


def detail(response: httpx.Response) -> str:
    return ErrorBody.model_validate_json(response.content).detail


async def test_health(client: httpx.AsyncClient) -> None:
    response = await client.get("/health")
    assert Health.model_validate_json(response.content).status == "ok"


async def test_models_say_which_is_the_default_and_why(client: httpx.AsyncClient) -> None:
    listing = ModelList.model_validate_json((await client.get("/api/models")).content)
    assert [model.name for model in listing.models] == ["gpt", "vendor/small", "broken", "missing"]
    assert listing.default == "gpt"
    assert listing.reason == "It is the first model in the configuration."
    assert [model.default for model in listing.models] == [True, False, False, False]
    one = ModelInfo.model_validate_json((await client.get("/api/models/gpt")).content)
    assert (one.display_name, one.model, one.supports_vision, one.source) == ("GPT", "gpt-x", True, "config")
    slashed = ModelInfo.model_validate_json((await client.get("/api/models/vendor/small")).content)
    assert not slashed.supports_tools


async def test_an_unknown_model_is_404_and_names_the_known(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/models/nope")
    assert response.status_code == 404
    assert (
        detail(response) == 'There is no model named "nope". Available: gpt, vendor/small, broken, missing.'
    )


async def test_agents_of_ones_own(client: httpx.AsyncClient, home: Path) -> None:
    assert AgentList.model_validate_json((await client.get("/api/agents")).content).agents == []
    coder = {"description": "Writes code.", "model": "gpt", "tool_groups": ["web"]}
    for name, text in (("poet", ""), ("coder", json.dumps(coder)), ("lame", "modle: gpt")):
        (home / "agents" / name).mkdir(parents=True)
        (home / "agents" / name / "config.yaml").write_text(text)
    (home / "agents" / "Not a name").mkdir()
    (home / "agents" / "file").touch()
    first, second, third = AgentList.model_validate_json((await client.get("/api/agents")).content).agents
    assert first == AgentInfo(name="coder", description="Writes code.", model="gpt", tool_groups=["web"])
    assert third == AgentInfo(name="poet")
    assert (second.name, second.model) == ("lame", None)
    assert second.problem is not None
    assert "agents/lame/config.yaml" in second.problem
    assert "did you mean model?" in second.problem
    assert str(home) not in second.problem
    coder = AgentInfo.model_validate_json((await client.get("/api/agents/Coder")).content)
    assert coder == first.model_copy(update={"personality": ""})
    lame = AgentInfo.model_validate_json((await client.get("/api/agents/lame")).content)
    assert lame == second.model_copy(update={"personality": ""})


@pytest.mark.parametrize("name", ["gone", "..", "%2e%2e", "Not%20a%20name", "file"])
async def test_an_agent_that_there_is_not_is_404(client: httpx.AsyncClient, home: Path, name: str) -> None:
    (home / "agents" / "poet").mkdir(parents=True)
    (home / "agents" / "Not a name").mkdir()
    (home / "agents" / "file").touch()
    response = await client.get(f"/api/agents/{name}")
    assert response.status_code == 404
    if name == "gone":
        assert detail(response) == 'There is no agent named "gone". Available: poet.'


async def test_models_follow_the_file(client: httpx.AsyncClient, config: Path) -> None:
    config.write_text("models: {")
    assert (await client.get("/api/models")).status_code == 200


async def test_upload_list_fetch_delete(client: httpx.AsyncClient, home: Path) -> None:
    response = await put(client, ("notes.md", b"# Notes"), ("图片 ü.png", b"\x89PNG"))
    result = UploadResult.model_validate_json(response.content)
    assert result.success
    assert [file.filename for file in result.files] == ["notes.md", "图片 ü.png"]
    assert result.files[0].path == "/mnt/user-data/uploads/notes.md"
    assert result.files[0].size == 7
    listing = UploadList.model_validate_json(
        (await client.get(f"/api/threads/{THREAD}/uploads/list")).content
    )
    assert listing.count == 2
    fetched = await client.get(result.files[1].artifact_url)
    assert fetched.content == b"\x89PNG"
    assert fetched.headers["content-type"] == "image/png"
    gone = await client.delete(f"/api/threads/{THREAD}/uploads/图片 ü.png")
    assert OperationResult.model_validate_json(gone.content).success
    assert (await client.get(result.files[1].artifact_url)).status_code == 404
    assert (await client.delete(f"/api/threads/{THREAD}/uploads/图片 ü.png")).status_code == 404
    folder = home / "threads" / THREAD / "user-data" / "uploads"
    for path in (folder, folder.parent, folder.parent.parent, folder.parent.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "notes.md").stat().st_mode) == 0o600


async def test_a_document_is_told_with_its_markdown(client: httpx.AsyncClient) -> None:
    response = await put(client, ("a.csv", b"name,count\nAda,1\n"), ("b.pdf", b"no PDF"))
    result = UploadResult.model_validate_json(response.content)
    assert result.message == (
        "2 files uploaded.\nb.pdf can't be read: It is damaged, or its content does not match its file name."
    )
    table, broken = result.files
    assert broken.markdown is not None
    assert broken.markdown.artifact_url is None
    assert table.markdown is not None
    assert table.markdown.artifact_url
    fetched = await client.get(table.markdown.artifact_url)
    assert fetched.text.startswith("| name | count |")
    assert fetched.headers["content-type"].startswith("text/markdown")
    assert fetched.headers["content-security-policy"] == "default-src 'none'; sandbox"
    listing = UploadList.model_validate_json(
        (await client.get(f"/api/threads/{THREAD}/uploads/list")).content
    )
    assert listing.files == result.files
    assert (await client.delete(f"/api/threads/{THREAD}/uploads/a.csv")).status_code == 200
    assert (await client.get(table.markdown.artifact_url)).status_code == 404


async def test_the_same_name_twice_keeps_both(client: httpx.AsyncClient) -> None:
    await put(client, ("a.tar.gz", b"1"))
    result = UploadResult.model_validate_json(
        (await put(client, ("a.tar.gz", b"2"), ("a.tar.gz", b"3"))).content
    )
    assert [file.filename for file in result.files] == ["a.tar-2.gz", "a.tar-3.gz"]


async def test_a_batch_over_the_limit_leaves_nothing(client: httpx.AsyncClient, home: Path) -> None:
    response = await put(client, ("small.txt", b"x"), ("large.bin", b"x" * 1_000_001))
    assert response.status_code == 413
    assert detail(response) == "large.bin is larger than 1 MB."
    user_data = home / "threads" / THREAD / "user-data"
    assert [path.name for path in user_data.iterdir()] == ["uploads"]
    assert not list((user_data / "uploads").iterdir())


async def test_too_many_files_and_too_large_a_body_are_refused(client: httpx.AsyncClient) -> None:
    response = await put(client, *[(f"{number}.txt", b"x") for number in range(21)])
    assert response.status_code == 413
    assert detail(response) == "Too many files; you can upload at most 20 at once."


async def test_a_body_that_announces_too_much_is_refused_unread(client: httpx.AsyncClient) -> None:
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(
        f"POST /api/threads/{THREAD}/uploads HTTP/1.1\r\nHost: here\r\nContent-Length: 99999999999\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n".encode()
    )
    assert b" 413 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_is_broken_off_leaves_nothing(client: httpx.AsyncClient, home: Path) -> None:
    _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(
        f"POST /api/threads/{THREAD}/uploads HTTP/1.1\r\nHost: here\r\nContent-Length: 5000\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        "--b\r\ncontent-disposition: form-data; name=f; filename=half.txt\r\n\r\nhalf".encode()
    )
    user_data = home / "threads" / THREAD / "user-data"
    while not list(user_data.glob(".incoming-*/part-0")):
        await asyncio.sleep(0)
    writer.close()
    await writer.wait_closed()
    while [path.name for path in user_data.iterdir()] != ["uploads"]:
        await asyncio.sleep(0)
    assert not list((user_data / "uploads").iterdir())


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 415),
        (b"garbage", "multipart/form-data; boundary=b", 400),
        (
            b"--b\r\ncontent-disposition: form-data; name=f; filename=a\r\n\r\nhalf",
            "multipart/form-data; boundary=b",
            400,
        ),
        (b"--b\r\n" + b"x" * 9000 + b": 1\r\n\r\n", "multipart/form-data; boundary=b", 400),
        (b"--b--\r\n", "multipart/form-data; boundary=b", 400),
    ],
)
async def test_bodies_that_are_no_uploads(
    client: httpx.AsyncClient, home: Path, content: bytes, content_type: str, status: int
) -> None:
    response = await client.post(
        f"/api/threads/{THREAD}/uploads", content=content, headers={"content-type": content_type}
    )
    assert response.status_code == status
    assert detail(response)
    uploads = home / "threads" / THREAD / "user-data" / "uploads"
    assert not uploads.exists() or not list(uploads.iterdir())


async def test_a_field_that_is_no_file_is_passed_over(client: httpx.AsyncClient) -> None:
    response = await client.post(
        f"/api/threads/{THREAD}/uploads", data={"note": "hello"}, files={"files": ("a.txt", b"1")}
    )
    assert [file.filename for file in UploadResult.model_validate_json(response.content).files] == ["a.txt"]


@pytest.mark.parametrize("thread", ["..", "a b", "x" * 65, "%2e%2e", "-lead"])
async def test_thread_ids_outside_the_grammar(client: httpx.AsyncClient, thread: str) -> None:
    for response in (
        await client.get(f"/api/threads/{thread}/uploads/list"),
        await client.delete(f"/api/threads/{thread}"),
        await put(client, ("a", b"1"), thread=thread),
    ):
        assert response.status_code in {400, 404, 405}


@pytest.mark.parametrize(
    "path",
    [
        "mnt/user-data/outputs/..%2F..%2F..%2Fsecret.txt",
        "mnt/user-data/secret.txt",
        "etc/passwd",
        "outputs/%2e%2e/%2e%2e/secret.txt",
        "outputs/link.txt",
        "outputs/folderlink/secret.txt",
        "outputs/a%5Cb",
        "outputs//x",
        "outputs/%00",
    ],
)
async def test_paths_out_of_the_thread_are_refused(client: httpx.AsyncClient, home: Path, path: str) -> None:
    await put(client, ("a.txt", b"1"))
    (home / "threads" / "secret.txt").write_text("secret")
    outputs = home / "threads" / THREAD / "user-data" / "outputs"
    outputs.mkdir()
    (outputs / "link.txt").symlink_to(home / "threads" / "secret.txt")
    (outputs / "folderlink").symlink_to(home / "threads")
    response = await client.get(f"/api/threads/{THREAD}/artifacts/{path}")
    assert response.status_code == 400
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("name", "kind", "disposition"),
    [
        ("page.html", "text/html", "attachment"),
        ("drawing.svg", "image/svg+xml", "attachment"),
        ("feed.xml", "", "attachment"),
        ("script.js", "", "attachment"),
        ("unknown.zzz", "application/octet-stream", "attachment"),
        ("archive.txt.gz", "application/octet-stream", "attachment"),
        ("report.md", "text/markdown", "inline"),
        ("photo.jpg", "image/jpeg", "inline"),
        ("paper.pdf", "application/pdf", "inline"),
    ],
)
async def test_what_could_act_is_only_downloaded(
    client: httpx.AsyncClient, home: Path, name: str, kind: str, disposition: str
) -> None:
    outputs = home / "threads" / THREAD / "user-data" / "outputs"
    outputs.mkdir(parents=True)
    (outputs / name).write_bytes(b"content")
    url = f"/api/threads/{THREAD}/artifacts/mnt/user-data/outputs/{name}"
    response = await client.get(url)
    assert response.content == b"content"
    assert response.headers["content-type"].startswith(kind)
    assert response.headers["content-disposition"].startswith(disposition)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    download = await client.get(url, params={"download": "true"})
    assert download.headers["content-disposition"] == f'attachment; filename="{name}"'


async def test_forgetting_a_thread_removes_its_folder_only(client: httpx.AsyncClient, home: Path) -> None:
    other = THREAD[:-1] + "2"
    await put(client, ("a.txt", b"1"))
    await put(client, ("b.txt", b"1"), thread=other)
    response = await client.delete(f"/api/threads/{THREAD}")
    assert DeletionResult.model_validate_json(response.content).success
    assert [path.name for path in (home / "threads").iterdir()] == [other]
    assert (await client.delete(f"/api/threads/{THREAD}")).status_code == 200


async def test_an_unexpected_failure_is_a_generic_500(
    client: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    response = await client.get("/broken")
    assert response.status_code == 500
    assert detail(response) == "Internal error; see the log for details."
    assert "request_failed" in capsys.readouterr().out


def test_a_use_that_is_no_chat_model_stops_the_start(home: Path, config: Path) -> None:
    config.write_text("models: [{name: bad, use: 'pathlib:Path'}]")
    with pytest.raises(ModelUnavailable, match=r"pathlib:Path is not a chat model"):
        management_routes(home, config)
    config.write_text("models: [{name: bad, use: 'pathlib:Nope'}]")
    with pytest.raises(ModelUnavailable, match=r"pathlib has no Nope"):
        management_routes(home, config)


def test_a_missing_package_does_not_stop_the_start(home: Path, config: Path) -> None:
    config.write_text("models: [{name: m, use: 'langchain_nowhere:ChatNowhere'}]")
    assert management_routes(home, config)


BAD_TOOL = "tools: [{name: bad, group: g, use: 'pathlib:Nope'}]\n"
BAD_SETTINGS = "guardrails: {enabled: true, provider: {use: 'agent.guardrails:AllowlistProvider', no: 1}}\n"
BAD_GUARDRAIL = "guardrails: {enabled: true, provider: {use: 'pathlib:Path'}}\n"
UNLOADABLE = 'tools[0]: The tool "bad" can\'t be loaded: pathlib has no Nope (use: pathlib:Nope).'


async def problems(client: httpx.AsyncClient) -> list[str]:
    report = ConfigReport.model_validate_json((await client.get("/api/config/problems")).content)
    return [f"{one.where}: {one.what}" for one in report.problems if one.serious]


def test_a_tool_or_guardrail_that_cannot_be_made_is_logged_and_stops_no_start(
    home: Path, config: Path
) -> None:
    config.write_text(BAD_TOOL + BAD_GUARDRAIL)
    with capture_logs() as logs:
        assert management_routes(home, config)
    tool, guardrail = [event["detail"] for event in logs if event["event"] == "config_part_unusable"]
    assert tool == f"{config}:1: {UNLOADABLE} Correct this entry of tools, or remove it."
    assert guardrail.startswith(f"{config}:2: guardrails.provider: pathlib:Path is not a guardrail provider")


async def test_what_cannot_be_loaded_at_the_start_is_said_by_each_run_until_it_is_mended(
    home: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROEBOT_HOME", str(home))
    config.write_text(CONFIG + BAD_TOOL.replace(" g,", " web,"))
    await asyncio.to_thread(management_routes, home, config)
    for _ in range(2):
        with pytest.raises(ToolUnavailable, match=r'The tool "bad" can\'t be loaded: pathlib has no Nope'):
            await make_lead_agent({"configurable": {}})
    config.write_text(CONFIG)
    find_source(home).expire()
    assert await make_lead_agent({"configurable": {}})


async def test_problems_of_the_configuration(client: httpx.AsyncClient, home: Path, config: Path) -> None:
    report = ConfigReport.model_validate_json((await client.get("/api/config/problems")).content)
    (missing,) = [one for one in report.problems if one.where != "sandbox"]
    assert (missing.where, missing.serious) == (f"{config}:9: models[3]", False)
    assert missing.what.startswith("There is no module no_such_provider (use: no_such_provider:Chat).")
    (home / "agents" / "lame").mkdir(parents=True)
    (home / "agents" / "lame" / "config.yaml").write_text("model: gone")
    (lame,) = await problems(client)
    assert lame.startswith('agents/lame: The agent "lame" can\'t be used: agents/lame/config.yaml: model: ')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CONFIG + BAD_TOOL.replace(" g,", " web,"), UNLOADABLE),
        (CONFIG + BAD_GUARDRAIL, "pathlib:Path is not a guardrail provider"),
        (
            CONFIG + BAD_SETTINGS,
            "The settings of the guardrail agent.guardrails:AllowlistProvider are invalid",
        ),
        (CONFIG + "guardrails: {enabled: true}\n", "it has no list"),
        (CONFIG.replace("no_such_provider:Chat", "pathlib:Path"), "pathlib:Path is not a chat model"),
        ("", "is empty"),
        (" \n\t\n", "to use the defaults, write {} in it"),
    ],
)
async def test_a_change_that_cannot_work_leaves_the_last_good(
    client: httpx.AsyncClient, config: Path, text: str, told: str
) -> None:
    config.write_text(text)
    with capture_logs() as logs:
        for _ in range(2):
            (problem,) = await problems(client)
            assert told in problem
    (kept,) = [event["detail"] for event in logs if event["event"] == "config_kept"]
    assert told in kept
    models = ModelList.model_validate_json((await client.get("/api/models")).content).models
    assert [model.name for model in models] == ["gpt", "vendor/small", "broken", "missing"]
    config.write_text("{}")
    assert await problems(client) == []
    assert (await client.get("/api/models/gpt")).status_code == 404


async def test_a_bad_configuration_gives_way_to_one_with_other_faults(home: Path, config: Path) -> None:
    config.write_text(CONFIG + BAD_GUARDRAIL)
    source = ModelSource(config, environ={}, clock=lambda: 0.0)
    await asyncio.to_thread(source.verify)
    config.write_text(CONFIG + BAD_TOOL.replace(" g,", " web,"))
    source.expire()
    found = await report(source, home, {}, ExtensionsSource(environ={}, cwd=home.parent))
    assert [problem.where for problem in found.problems if problem.serious] == [f"{config}:10: tools[0]"]
    config.write_text(CONFIG + BAD_GUARDRAIL)
    source.expire()
    assert (await source.config()).guardrails.enabled


async def test_an_agent_whose_model_there_is_not_says_so(client: httpx.AsyncClient, home: Path) -> None:
    (home / "agents" / "lame").mkdir(parents=True)
    (home / "agents" / "lame" / "config.yaml").write_text("model: gone")
    one = AgentInfo.model_validate_json((await client.get("/api/agents/lame")).content)
    assert one.problem is not None
    assert 'model: there is no model named "gone" (known: gpt, ' in one.problem


def test_a_broken_configuration_stops_the_start(home: Path, config: Path) -> None:
    config.write_text("models: 3")
    with pytest.raises(ConfigErrors):
        management_routes(home, config)


@pytest.mark.parametrize("name", ["gpt", "vendor/small"])
async def test_a_model_that_answers_is_probed(client: httpx.AsyncClient, name: str) -> None:
    probed = ModelProbe.model_validate_json((await client.post(f"/api/models/{name}/probe")).content)
    assert (probed.name, probed.ok, probed.detail) == (name, True, None)


async def test_a_model_that_does_not_answer_says_why(client: httpx.AsyncClient) -> None:
    probed = ModelProbe.model_validate_json((await client.post("/api/models/broken/probe")).content)
    assert not probed.ok
    assert probed.detail is not None
    assert "rejected the API key" in probed.detail
    assert "sk-secret" not in probed.detail
    listed = ModelList.model_validate_json((await client.get("/api/models")).content).models
    assert {one.name: one.failing for one in listed if one.failing} == {"broken": "key"}
    missing = ModelProbe.model_validate_json((await client.post("/api/models/missing/probe")).content)
    assert missing.detail is not None
    assert "There is no module no_such_provider" in missing.detail
    assert (await client.post("/api/models/nope/probe")).status_code == 404
    assert (await client.get("/api/models/gpt/probe")).status_code in {404, 405}
