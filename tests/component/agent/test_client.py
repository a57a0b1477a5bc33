"""The embedded client: one's own program talks to the agent, with and without a running loop."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from agent.client import AgentClient
from agent.config.errors import ConfigErrors
from agent.core.interfaces import SandboxUnavailable
from agent.core.schemas import (
    MemoryChange,
    MemorySettings,
    MemoryStatus,
    SuggestionList,
    UploadList,
    UploadResult,
)
from agent.errors import (
    BadIdentifier,
    Conflict,
    FileMissing,
    FileRefused,
    Invalid,
    ModelCallFailed,
    ModelUnavailable,
    ModelUnknown,
    NotFound,
    ProfileUnknown,
)
from agent.sandbox.options import Surroundings
from agent.shared.memory_document import MemoryDocument
from agent.shared.schemas import (
    AgentInfo,
    AgentList,
    ConfigProblem,
    ConfigReport,
    DeletionResult,
    ModelInfo,
    ModelList,
    OperationResult,
)
from roebot_testing.agent.sandbox import MemorySandboxProvider
from tests.harness.forks import Program, run

pytestmark = pytest.mark.may_block
SCRIPTED = "roebot_testing.agent:ScriptedChatModel"
ECHO: dict[str, Any] = {
    "models": [
        {"name": "echo", "use": SCRIPTED},
        {"name": "other", "use": SCRIPTED, "script": {"reply": "no"}},
    ],
    "title": {"enabled": False},
}


@tool
async def approve_me(thing: str) -> str:
    """Ask whether a thing is right."""
    answer = interrupt({"question": f"Is {thing} right?", "options": ["yes", "no"], "context": "A check."})
    return f"They said {answer}."


@tool
async def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def with_tool(name: str) -> dict[str, Any]:
    entry = {"name": name, "group": "t", "use": f"tests.component.agent.test_client:{name}"}
    return {**ECHO, "tools": [entry]}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[AgentClient]:
    with AgentClient(ECHO, read_file=False, home=tmp_path / "home", environ={}) as made:
        yield made


def test_it_answers_without_a_loop(client: AgentClient) -> None:
    assert client.chat("hello there") == "hello there"


async def test_it_answers_on_the_callers_loop(client: AgentClient) -> None:
    assert await client.achat("hello there") == "hello there"


async def test_blocking_methods_work_while_a_loop_runs(client: AgentClient) -> None:
    assert client.chat("from within") == "from within"
    assert [event.type for event in client.stream("x")][-1] == "end"


def test_a_thread_remembers_and_others_do_not(client: AgentClient) -> None:
    client.chat("[reply=first]", "t1")
    [*_, values, end] = client.stream("second", "t1")
    assert [message["content"] for message in values.data["messages"]] == [
        "[reply=first]",
        "first",
        "second",
        "second",
    ]
    assert end.type == "end"
    [*_, values, _] = client.stream("alone", "t2")
    assert len(values.data["messages"]) == 2


def test_a_turn_of_threads_in_both_ways(client: AgentClient) -> None:
    client.chat("one", "t")
    assert asyncio.run(client.achat("two", "t")) == "two"
    [*_, values, _] = client.stream("three", "t")
    assert len(values.data["messages"]) == 6


def test_the_events_of_an_answer(client: AgentClient) -> None:
    events = list(client.stream("say three words", "t"))
    pieces = [event.data["content"] for event in events if event.type == "messages-tuple"]
    assert pieces == ["say ", "three ", "words"]
    assert {event.data["type"] for event in events if event.type == "messages-tuple"} == {"ai"}
    assert events[-1].data == {
        "usage": {"input_tokens": events[-1].data["usage"]["input_tokens"], "output_tokens": 3}
        | {"total_tokens": events[-1].data["usage"]["input_tokens"] + 3, "cached_tokens": 0},
        "interrupts": [],
    }
    last = events[-2].data
    assert last.keys() == {"title", "messages", "artifacts", "todos"}
    assert [message["type"] for message in last["messages"]] == ["human", "ai"]


def test_tool_calls_and_their_results_are_told_once(tmp_path: Path) -> None:
    with AgentClient(with_tool("add"), read_file=False, home=tmp_path, environ={}) as client:
        events = list(client.stream('[tool=add {"a": 2, "b": 3}] so', "t"))
        told = [event.data for event in events if event.type == "messages-tuple"]
        assert [data["tool_calls"] for data in told if "tool_calls" in data] == [
            [{"id": told[0]["tool_calls"][0]["id"], "name": "add", "args": {"a": 2, "b": 3}}]
        ]
        [result] = [data for data in told if data["type"] == "tool"]
        assert (result["content"], result["name"], result["status"]) == ("5", "add", "success")
        assert "".join(data["content"] for data in told if data["type"] == "ai") == "so"
        assert client.chat("again", "t") == "again"
        assert not [e for e in client.stream("more", "t") if e.data.get("type") == "tool"], "only what is new"


def test_the_title_is_in_the_values_and_its_tokens_in_no_stream(tmp_path: Path) -> None:
    config = {**ECHO, "title": {"enabled": True, "max_words": 2}}
    with AgentClient(config, read_file=False, home=tmp_path, environ={}) as client:
        events = list(client.stream("plan my holidays", "t"))
    told = [event.data["content"] for event in events if event.type == "messages-tuple"]
    assert "".join(told) == "plan my holidays"
    assert events[-2].data["title"]


async def test_answers_need_questions(tmp_path: Path) -> None:
    told = "No question is open in this conversation"
    with AgentClient(ECHO, read_file=False, home=tmp_path) as client, pytest.raises(Conflict, match=told):
        [event async for event in client.astream({"some-id": "yes"}, "t-1")]


def test_a_question_is_the_answer_and_the_next_message_answers_it(tmp_path: Path) -> None:
    with AgentClient(with_tool("approve_me"), read_file=False, home=tmp_path, environ={}) as client:
        assert client.chat('[tool=approve_me {"thing": "this"}] go', "t") == (
            "A check.\nIs this right?\n- yes\n- no"
        )
        [*_, values, end] = client.stream("yes", "t")
        results = [message for message in values.data["messages"] if message["type"] == "tool"]
        assert [result["content"] for result in results] == ["They said yes."]
        assert end.data["interrupts"] == []
        [*_, end] = client.stream('[tool=approve_me {"thing": "that"}] go', "t2")
        [asked] = end.data["interrupts"]
        assert asked["id"]
        assert asked["value"]["question"] == "Is that right?"


def test_code_comes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        f"models: [{{name: file, use: '{SCRIPTED}', script: {{reply: from the file}}}}]\n"
        "title: {enabled: false, max_words: 3}\nlimits: {file_mb: 1}\n"
    )
    with AgentClient(config_path=path, home=tmp_path) as client:
        assert client.chat("x") == "from the file"
    with AgentClient({"title": {"max_words": 2}}, config_path=path, home=tmp_path) as client:
        assert client.chat("x") == "from the file"
    with AgentClient({"models": ECHO["models"]}, config_path=path, home=tmp_path) as client:
        assert [model["name"] for model in client.list_models()["models"]] == ["echo", "other"]
        assert client.chat("echoed") == "echoed"


def test_without_reading_a_file_there_is_only_what_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("nonsense: 1\n")
    monkeypatch.chdir(tmp_path)
    with AgentClient(ECHO, read_file=False, home=tmp_path) as client:
        assert client.chat("x") == "x"
    with AgentClient(ECHO, home=tmp_path) as client, pytest.raises(ConfigErrors, match="nonsense"):
        client.chat("x")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"titel": {}}, "the given configuration: titel: unknown key; did you mean title?"),
        ({"title": {"max_words": "6"}}, "the given configuration: title.max_words: expected a whole number"),
        ({"checkpointer": {"type": "postgres"}}, "postgres is not supported in this version"),
    ],
)
def test_a_wrong_configuration_says_what_and_where_at_once(tmp_path: Path, config: Any, told: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        AgentClient(config, home=tmp_path, config_path=tmp_path / "not-looked-at-yet.yaml", environ={})
    assert told in str(caught.value)


def test_a_variable_may_be_set_until_it_is_needed(tmp_path: Path) -> None:
    config = {"models": [{"name": "m", "use": SCRIPTED, "model_name": "$GONE"}]}
    environ: dict[str, str] = {}
    with AgentClient(config, read_file=False, home=tmp_path, environ=environ) as client:
        with pytest.raises(ConfigErrors, match="GONE is not set"):
            client.list_models()
        environ["GONE"] = "here"
        assert client.list_models()["default"] == "m"


def test_a_changed_file_counts_after_a_reset_at_the_latest(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = f"models: [{{name: m, use: '{SCRIPTED}', script: {{reply: REPLY}}}}]\ntitle: {{enabled: false}}\n"
    path.write_text(text.replace("REPLY", "one"))
    with AgentClient(config_path=path, home=tmp_path) as client:
        assert client.chat("x") == "one"
        path.write_text(text.replace("REPLY", "two and longer"))
        client.reset_agent()
        assert client.chat("x") == "two and longer"


def test_switches(client: AgentClient) -> None:
    assert client.chat("x", model_name="other") == "no"
    assert client.chat("x", model_name=None, user_id="me", roles=["owner"]) == "x"
    with pytest.raises(TypeError, match="Unknown option 'modle_name'; known: model_name, "):
        client.chat("x", modle_name="other")


def test_errors_come_out_as_they_are(client: AgentClient) -> None:
    with pytest.raises(ModelUnknown, match="Available: echo, other"):
        client.chat("x", model_name="gone")
    with pytest.raises(ModelCallFailed, match="rejected the API key"):
        client.chat("[fail=auth] x")
    with pytest.raises(ModelCallFailed):
        list(client.stream("[fail=auth] x"))


async def test_errors_come_out_of_async_methods_too(client: AgentClient) -> None:
    with pytest.raises(ModelUnknown):
        await client.achat("x", model_name="gone")
    with pytest.raises(ModelCallFailed):
        _ = [event async for event in client.astream("[fail=auth] x")]


def test_a_stream_that_is_left_early_ends_its_run(client: AgentClient) -> None:
    stream = client.stream("[tokens=2000]", "t")
    assert next(stream).type in {"values", "messages-tuple"}
    stream.close()  # type: ignore[attr-defined]
    assert client.chat("[reply=still here]", "other") == "still here"


def test_closing_ends_the_thread() -> None:
    def own() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "roebot-client"]

    assert own() == []
    with AgentClient(ECHO, read_file=False) as client:
        client.chat("x")
        assert len(own()) == 1
        left = client.stream("[tokens=2000]")
        next(left)
    assert own() == []
    del left
    gc.collect()
    client.close()


class Warm(MemorySandboxProvider):
    """Keeps something running until it is closed."""

    running: ClassVar[list[str]] = []

    def __init__(self, around: Surroundings, *, name: str) -> None:
        super().__init__()
        self.name = name
        self.running.append(name)

    async def close(self) -> None:
        self.running.remove(self.name)
        raise SandboxUnavailable("Its service does not answer.")


def test_closing_ends_sandboxes_of_earlier_configurations_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One that can't be ended is no reason to leave the others."""
    path = tmp_path / "config.yaml"
    text = f"models: [{{name: m, use: '{SCRIPTED}'}}]\ntitle: {{enabled: false}}\n"
    text += "sandbox: {use: 'tests.component.agent.test_client:Warm', name: NAME}\n"
    path.write_text(text.replace("NAME", "one"))
    with AgentClient(config_path=path, home=tmp_path) as client:
        client.chat("x")
        path.write_text(text.replace("NAME", "another"))
        client.reset_agent()
        client.chat("x")
        assert Warm.running == ["one", "another"]
    assert Warm.running == []
    assert caplog.text.count("Its service does not answer.") == 2


def test_a_checkpointer_of_ones_own(tmp_path: Path) -> None:
    saver = InMemorySaver()
    for text in ("one", "two"):
        with AgentClient(ECHO, read_file=False, home=tmp_path, checkpointer=saver) as client:
            client.chat(text, "t")
    assert len(saver.get_tuple({"configurable": {"thread_id": "t"}}).checkpoint["channel_values"]) > 0  # type: ignore[union-attr]
    with AgentClient(ECHO, read_file=False, home=tmp_path, checkpointer=saver) as client:
        [*_, values, _] = client.stream("three", "t")
    assert len(values.data["messages"]) == 6


def test_every_result_is_what_the_api_answers(client: AgentClient, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("hello")
    assert ModelList.model_validate(client.list_models()).default == "echo"
    assert ModelInfo.model_validate(client.get_model("other")).name == "other"
    (tmp_path / "home" / "agents" / "poet").mkdir(parents=True)
    assert [one.name for one in AgentList.model_validate(client.list_agents()).agents] == ["poet"]
    assert AgentInfo.model_validate(client.get_agent("poet")) == AgentInfo(name="poet", personality="")
    made = AgentInfo.model_validate(client.create_agent("Coder", model="other", personality="Be terse."))
    assert (made.name, made.model, made.personality) == ("coder", "other", "Be terse.")
    changed = AgentInfo.model_validate(client.update_agent("coder", model=None, skills=["x"]))
    assert (changed.model, changed.skills, changed.personality) == (None, ["x"], "Be terse.")
    assert (
        OperationResult.model_validate(client.delete_agent("coder")).message
        == 'The agent "coder" was deleted.'
    )
    uploaded = UploadResult.model_validate(client.upload_files("t", [source, str(source)]))
    assert [file.filename for file in uploaded.files] == ["a.txt", "a-2.txt"]
    assert uploaded.message == "2 files uploaded."
    assert UploadList.model_validate(client.list_uploads("t")).count == 2
    assert (
        OperationResult.model_validate(client.delete_upload("t", "a-2.txt")).message == "a-2.txt was deleted."
    )
    assert client.get_artifact("t", "/mnt/user-data/uploads/a.txt") == (b"hello", "text/plain")
    assert DeletionResult.model_validate(client.delete_thread_data("t")).success
    assert client.list_uploads("t") == {"files": [], "count": 0}


def test_documents_become_markdown_here_too(client: AgentClient, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("name,count\nAda,1\n")
    [kept] = UploadResult.model_validate(client.upload_files("t", [source])).files
    assert kept.markdown is not None
    assert kept.markdown.path is not None
    content, mime_type = client.get_artifact("t", kept.markdown.path)
    assert (content[:18], mime_type) == (b"| name | count |\n|", "text/markdown")
    assert UploadList.model_validate(client.list_uploads("t")).files == [kept]
    client.delete_upload("t", "a.csv")
    assert client.list_uploads("t") == {"files": [], "count": 0}


def test_what_the_management_methods_refuse(client: AgentClient, tmp_path: Path) -> None:
    with pytest.raises(ModelUnknown):
        client.get_model("gone")
    with pytest.raises(ProfileUnknown, match="Available: none"):
        client.get_agent("gone")
    with pytest.raises(FileRefused, match="is a directory"):
        client.upload_files("t", [tmp_path])
    with pytest.raises(FileMissing):
        client.delete_upload("t", "gone.txt")
    with pytest.raises(FileMissing):
        client.get_artifact("t", "/mnt/user-data/outputs/gone.txt")


async def test_management_works_inside_of_a_running_loop(client: AgentClient, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("hello")
    assert client.upload_files("t", [source])["success"]
    assert client.list_uploads("t")["count"] == 1


def test_the_files_are_below_the_home_and_within_the_limits(tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(b"x" * 1_000_001)
    config = {**ECHO, "limits": {"file_mb": 1}}
    with AgentClient(config, read_file=False, home=tmp_path / "home") as client:
        with pytest.raises(FileRefused, match="larger than 1 MB"):
            client.upload_files("t", [big])
        big.write_bytes(b"x")
        client.upload_files("t", [big])
    assert (tmp_path / "home/threads/t/user-data/uploads/big.bin").is_file()


def test_importing_it_brings_no_web_framework_and_prints_nothing() -> None:
    code = "import agent.client, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"fastapi", "starlette", "uvicorn", "bot"} & set(done.stdout.split())
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_memory_is_managed_by_scope(client: AgentClient, tmp_path: Path) -> None:
    assert MemoryDocument.model_validate(client.get_memory()).is_empty
    mine = MemoryChange.model_validate(client.add_memory_fact("Likes tea.", category="preference")).fact
    assert client.update_memory_fact(mine.id, confidence=0.8)["fact"]["confidence"] == 0.8
    client.add_memory_fact("Ships on Fridays.", scope="group:telegram:-100")
    assert [fact["content"] for fact in client.get_memory()["facts"]] == ["Likes tea."]
    group = client.reload_memory("group:telegram:-100")
    assert [fact["content"] for fact in group["facts"]] == ["Ships on Fridays."]
    status = MemoryStatus.model_validate(client.get_memory_status("group:telegram:-100"))
    assert (status.enabled, status.scope, status.facts) == (True, "group:telegram:-100", 1)
    assert MemorySettings.model_validate(client.get_memory_config()).max_facts == 100
    assert OperationResult.model_validate(client.delete_memory_fact(mine.id)).success
    assert OperationResult.model_validate(client.forget_memory("group:telegram:-100")).success
    assert client.get_memory("group:telegram:-100")["facts"] == ()
    with pytest.raises(NotFound, match="Fact not found"):
        client.delete_memory_fact(mine.id)
    with pytest.raises(Invalid, match="category"):
        client.add_memory_fact("x", category="secret")
    with pytest.raises(BadIdentifier):
        client.get_memory("everybody")


def test_what_one_says_to_the_client_is_remembered_by_the_next(tmp_path: Path) -> None:
    config = {
        **ECHO,
        "models": [{"name": "m", "use": "roebot_testing.agent.remembering:RememberingModel"}],
        "memory": {"debounce_seconds": 0.01},
    }
    with AgentClient(config, read_file=False, home=tmp_path, environ={}) as client:
        client.chat("I like tea.", "t-1")
        while client.get_memory_status()["updates_waiting"]:
            pass
        assert [fact["content"] for fact in client.get_memory()["facts"]] == ["I like tea."]
        assert client.get_memory("person:bot:telegram:2")["facts"] == ()
        [source] = [fact["source"] for fact in client.get_memory()["facts"]]
        assert source == "t-1"


async def in_every_way(client: AgentClient, thread: str) -> list[str]:
    """What each of the four methods says of a message."""

    async def listened() -> None:
        async for _ in client.astream("look", thread):
            pass

    ways: list[Any] = [
        asyncio.to_thread(client.chat, "look", thread),
        asyncio.to_thread(lambda: list(client.stream("look", thread))),
        client.achat("look", thread),
        listened(),
    ]
    said = []
    for way in ways:
        with pytest.raises(ModelUnavailable) as caught:
            await way
        said.append(str(caught.value))
    return said


async def test_an_image_for_a_blind_model_is_an_error_where_nothing_may_be_left_out(tmp_path: Path) -> None:
    picture, text = tmp_path / "red.PNG", tmp_path / "notes.txt"
    picture.write_bytes(b"\x89PNG")
    text.write_text("notes")
    config = {**ECHO, "allow_degradation": False}
    with AgentClient(config, read_file=False, home=tmp_path / "home", environ={}) as client:
        client.upload_files("t", [text])
        assert "notes.txt" in await client.achat("look", "t")
        client.upload_files("t", [picture])
        assert await in_every_way(client, "t") == ['The model "echo" does not support images.'] * 4
        client.delete_upload("t", picture.name)
        assert await client.achat("and now?", "t"), "without the image it goes on"


def unusable(client: AgentClient) -> list[ConfigProblem]:
    """What can't be used, but for the sandbox, which this machine may lack."""
    found = ConfigReport.model_validate(client.get_config_problems()).problems
    return [one for one in found if one.where != "sandbox"]


def test_what_can_not_be_used_is_listed(tmp_path: Path) -> None:
    gone = {"name": "gone", "group": "g", "use": "tests.component.agent.test_client:gone"}
    with AgentClient({**ECHO, "tools": [gone]}, read_file=False, home=tmp_path) as client:
        [problem] = unusable(client)
    assert problem.where.endswith("tools[0]")
    assert "tests.component.agent.test_client has no gone" in problem.what
    with AgentClient(ECHO, read_file=False, home=tmp_path) as client:
        assert unusable(client) == []


def test_it_prints_nothing(tmp_path: Path) -> None:
    """What there is to tell goes to `logging`, where the program has not chosen otherwise."""
    source = (
        "import logging\n"
        "logging.basicConfig(level='INFO', filename='log')\n"
        "from agent.client import AgentClient\n"
        "config = {'models': [{'name': 'm', 'use': 'roebot_testing.agent:ScriptedChatModel'}],\n"
        "          'guardrails': {'enabled': True, 'provider': {'allowed': []}}}\n"
        "with AgentClient(config, home='home') as client:\n"
        '    print(client.chat(\'[tool=bash {"command": "ls"}] so\'))\n'
    )
    done = run(Program(source=source, folder=tmp_path))
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    assert "event='tool_denied'" in (tmp_path / "log").read_text()


def test_what_to_say_next(tmp_path: Path) -> None:
    script = {"reply": '["And then?", "Why?"]'}
    config = {**ECHO, "models": [{"name": "m", "use": SCRIPTED, "script": script}]}
    with AgentClient(config, read_file=False, home=tmp_path, environ={}) as client:
        assert SuggestionList.model_validate(client.get_suggestions("t")).suggestions == []
        client.chat("Tell me a story", "t")
        assert client.get_suggestions("t") == {"suggestions": ["And then?", "Why?"]}
        assert client.get_suggestions("t", n=1) == {"suggestions": ["And then?"]}
        with pytest.raises(Invalid, match=r"^n: "):
            client.get_suggestions("t", n=0)
