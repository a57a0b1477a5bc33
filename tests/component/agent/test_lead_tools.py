"""Tools, switches, retries and agents of one's own, from a real configuration file to an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import structlog
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.errors import (
    GuardrailUnavailable,
    ModelCallFailed,
    ModelUnavailable,
    ProfileBroken,
    ProfileUnknown,
    ToolUnavailable,
)
from agent.features import RuntimeFeatures
from agent.lead import Additions, LeadAgent
from agent.models.spec import ModelSpec
from agent.tools.sandbox import sandbox_tools
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

HERE = "tests.component.agent.test_lead_tools"
ONE = "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\ntitle: {enabled: false}\n"


@tool
async def lookup(word: str) -> str:
    """Look a word up."""
    return f"{word} means 42"


def plain(word: str) -> str:
    """Spell a word."""
    return "-".join(word)


class Shout(BaseTool):
    """A class of tools, with a setting of its own."""

    name: str = "shout"
    description: str = "Shout a word."
    sign: str = "!"
    api_key: str = ""

    def _run(self, word: str) -> str:
        return word.upper() + self.sign


def made(times: int = 1) -> BaseTool:
    """A function that makes a tool."""

    @tool
    def repeat(word: str) -> str:
        """Repeat a word."""
        return word * times

    return repeat


def broken(**_: object) -> BaseTool:
    """A function that can't make its tool."""
    raise RuntimeError("no sk-secret-1234567890123 here")


NOT_A_TOOL = 5


class Models:
    """Makes scripted models by name, and keeps them."""

    def __init__(self, **steps: tuple[Script, ...]) -> None:
        self.made = {
            name: ScriptedChatModel(steps=given, environ={}, metadata={"roebot_model": name})
            for name, given in steps.items()
        }

    def __call__(self, spec: ModelSpec, **_: object) -> ScriptedChatModel:
        return self.made[spec.name]


def lead(folder: Path, text: str, models: Any = None) -> LeadAgent:
    path = folder / "config.yaml"
    path.write_text("config_version: 1\n" + text)
    source = ModelSource(path, environ={}, cwd=folder, clock=lambda: 0.0)
    return LeadAgent(source, folder / "home", **({"make_model": models} if models else {}))


async def said(agent: LeadAgent, text: str = "hi", switches: RunOptions | None = None, **kwargs: Any) -> Any:
    graph = (await agent.get_graph(switches or RunOptions())).copy({"checkpointer": InMemorySaver()})
    message = HumanMessage(text, additional_kwargs=kwargs)
    return await graph.ainvoke({"messages": [message]}, {"configurable": {"thread_id": "t"}})


def entry(name: str, use: str, more: str = "", group: str = "words") -> str:
    return f"{{name: {name}, group: {group}, use: '{HERE}:{use}'{more}}}"


def asks(name: str, **args: object) -> Models:
    return Models(m=(Script(tools=(ToolUse(name, args),)), Script(reply="done")))


@pytest.mark.parametrize(
    ("name", "use", "more", "result"),
    [
        ("lookup", "lookup", "", "ab means 42"),
        ("dictionary", "lookup", "", "ab means 42"),
        ("spell", "plain", "", "a-b"),
        ("shout", "Shout", "", "AB!"),
        ("shout", "Shout", ", sign: '?'", "AB?"),
        ("echo", "made", ", times: 2", "abab"),
    ],
)
async def test_tools_come_from_the_configuration(
    tmp_path: Path, name: str, use: str, more: str, result: str
) -> None:
    models = asks(name, word="ab")
    agent = lead(tmp_path, ONE + f"tools: [{entry(name, use, more)}]\n", models)
    values = await said(agent)
    assert [message.text for message in values["messages"]][-2:] == [result, "done"]
    assert name in models.made["m"].calls[0].tools
    assert "what your tools allow" in models.made["m"].calls[0].texts[0]


async def test_the_prompt_counts_the_tools_that_are_built_in(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="ok"),))
    await said(lead(tmp_path, ONE, models))
    [heard] = models.made["m"].calls
    assert {"ask_clarification", "read_file"} < set(heard.tools)
    assert "what your tools allow" in heard.texts[0]
    await said(lead(tmp_path, ONE.replace("'}", "', supports_tools: false}"), models))
    assert models.made["m"].calls[1].tools == ()
    assert "You have no tools" in models.made["m"].calls[1].texts[0]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (f"{HERE}:gone", f"can't be loaded: {HERE} has no gone (use: {HERE}:gone)."),
        (
            "no_such_pkg.tools:x",
            "can't be loaded: There is no module no_such_pkg (use: no_such_pkg.tools:x)."
            " Roebot looks in the installed packages and then in the folder that contains config.yaml.",
        ),
        (f"{HERE}:NOT_A_TOOL", f"is not a tool: {HERE}:NOT_A_TOOL has the type int."),
        (f"{HERE}:broken", f"can't be created from {HERE}:broken (RuntimeError: no *** here)."),
    ],
)
async def test_a_tool_that_cannot_be_made_says_why(tmp_path: Path, use: str, told: str) -> None:
    agent = lead(tmp_path, ONE + f"tools: [{{name: t, group: g, use: '{use}'}}]\n", asks("t"))
    with pytest.raises(ToolUnavailable) as caught:
        await agent.get_graph(RunOptions())
    assert str(caught.value).replace("…", "***") == f'The tool "t" {told}'
    assert caught.value.name == "t"


@pytest.mark.parametrize("name", ["ask_clarification", "write_todos"])
async def test_a_tool_with_the_name_of_a_built_in_one_is_refused(tmp_path: Path, name: str) -> None:
    agent = lead(tmp_path, ONE + f"tools: [{entry(name, 'lookup')}]\n", asks(name))
    with pytest.raises(
        ToolUnavailable, match=f'The tool "{name}" has the same name as a built-in tool; rename it'
    ):
        await agent.get_graph(RunOptions(plan_mode=True))


async def test_a_ready_made_tool_takes_no_keys_and_shows_none(tmp_path: Path) -> None:
    agent = lead(tmp_path, ONE + f"tools: [{entry('lookup', 'lookup', ', api_key: very-secret')}]\n")
    with pytest.raises(ToolUnavailable, match="accepts no other keys") as caught:
        await agent.get_graph(RunOptions())
    assert "remove api_key" in str(caught.value)
    assert "very-secret" not in str(caught.value)


async def test_a_model_without_tools_gets_none(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="ok"),))
    text = ONE.replace("Model'}", "Model', supports_tools: false}")
    await said(lead(tmp_path, text + f"tools: [{entry('lookup', 'lookup')}]\n", models))
    [heard] = models.made["m"].calls
    assert heard.tools == ()
    assert "You have no tools" in heard.texts[0]


async def test_plan_mode_brings_the_list(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, ONE, models)
    await said(agent)
    await said(agent, switches=RunOptions.of({"is_plan_mode": True}))
    without, planned = models.made["m"].calls
    assert "write_todos" not in without.tools
    assert "write_todos" in planned.tools
    assert "ask_clarification" in planned.tools


async def test_plan_mode_and_subagents_need_tools(tmp_path: Path) -> None:
    text = ONE.replace("Model'}", "Model', supports_tools: false}")
    switches = RunOptions(plan_mode=True, subagents=True)
    models = Models(m=(Script(reply="ok"),))
    await said(lead(tmp_path, text, models), switches=switches)
    assert models.made["m"].calls[0].tools == ()
    strict = lead(tmp_path, text + "allow_degradation: false\n")
    with pytest.raises(ModelUnavailable, match="does not support plan mode or subagents"):
        await strict.get_graph(switches)


@pytest.mark.parametrize("content", ["text", "blocks"])
@pytest.mark.parametrize("strict", [False, True])
async def test_an_image_for_a_model_that_cannot_see(tmp_path: Path, content: str, strict: bool) -> None:
    models = Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, ONE + f"allow_degradation: {str(not strict).lower()}\n", models)
    files = [{"filename": "a.png", "size": 3, "path": "/mnt/user-data/uploads/a.png"}]
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    given = HumanMessage([{"type": "text", "text": "look"}, image])
    if content == "text":
        given = HumanMessage("look", additional_kwargs={"files": files})
    graph = (await agent.get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})
    config: Any = {"configurable": {"thread_id": "t"}}
    if strict:
        with pytest.raises(ModelUnavailable, match='model "m" does not support images'):
            await graph.ainvoke({"messages": [given]}, config)
        return
    await graph.ainvoke({"messages": [given]}, config)
    heard = models.made["m"].calls[0].messages[-1]
    assert "AAAA" not in str(heard.content)
    assert ("a.png" if content == "text" else "can't see") in heard.text


TWO = (
    "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'},"
    " {name: spare, use: 'roebot_testing.agent:ScriptedChatModel'}]\ntitle: {enabled: false}\n"
)


async def test_a_failed_call_is_made_again(tmp_path: Path) -> None:
    models = Models(m=(Script(fail="overloaded"), Script(fail="rate_limit"), Script(reply="third")))
    agent = lead(tmp_path, ONE + "model_calls: {retries: 2, retry_delay_seconds: 0}\n", models)
    assert (await said(agent))["messages"][-1].text == "third"


@pytest.mark.parametrize(("fail", "told"), [("auth", "rejected the API key"), ("crash", "unexpected error")])
async def test_what_will_not_work_later_is_not_tried_again(tmp_path: Path, fail: str, told: str) -> None:
    models = Models(m=(Script(fail=fail), Script(reply="second")))
    with pytest.raises(ModelCallFailed, match=told):
        await said(lead(tmp_path, ONE, models))
    assert len(models.made["m"].calls) == 1


async def test_an_answer_that_failed_after_its_price_was_said_is_paid_for(tmp_path: Path) -> None:
    lost = Script(reply="half an", fail="connection", after=9, usage=(10, 2))
    models = Models(m=(lost, Script(reply="whole", usage=(10, 1))))
    text = ONE + "model_calls: {retry_delay_seconds: 0}\n"
    graph = (await lead(tmp_path, text, models).get_graph(RunOptions())).copy(
        {"checkpointer": InMemorySaver()}
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    values: Any = None
    async for mode, part in graph.astream(
        {"messages": [HumanMessage("hi")]}, config, stream_mode=["messages", "values"]
    ):
        values = part if mode == "values" else values
    assert values["messages"][-1].text == "whole"
    assert values["usage"] == {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23, "cached_tokens": 0}


async def test_retries_can_be_switched_off(tmp_path: Path) -> None:
    models = Models(m=(Script(fail="overloaded"), Script(reply="second")))
    with pytest.raises(ModelCallFailed, match="overloaded"):
        await said(lead(tmp_path, ONE + "model_calls: {retries: 0}\n", models))
    assert len(models.made["m"].calls) == 1


async def test_another_model_answers_when_the_first_keeps_failing(tmp_path: Path) -> None:
    models = Models(m=(Script(fail="overloaded"),), spare=(Script(reply="from the spare"),))
    text = TWO + "model_calls: {retries: 1, retry_delay_seconds: 0, fallback_models: [m, spare]}\n"
    assert (await said(lead(tmp_path, text, models)))["messages"][-1].text == "from the spare"
    assert len(models.made["m"].calls) == 2


async def test_when_all_fail_the_line_names_the_model_that_failed_last(tmp_path: Path) -> None:
    models = Models(m=(Script(fail="overloaded"),), spare=(Script(fail="auth"),))
    agent = lead(tmp_path, TWO + "model_calls: {fallback_models: spare}\n", models)
    with pytest.raises(ModelCallFailed, match=r'The model "spare" failed: its provider rejected the API key'):
        await said(agent)


async def test_a_guardrail_that_cannot_be_made_lets_nothing_run(tmp_path: Path) -> None:
    text = ONE + "guardrails: {enabled: true, provider: {use: 'no_such_pkg:X', api_key: very-secret}}\n"
    with pytest.raises(
        GuardrailUnavailable, match=r"can't be loaded: There is no module no_such_pkg \(use: no_such_pkg:X\)"
    ) as caught:
        await lead(tmp_path, text).get_graph(RunOptions())
    assert "very-secret" not in str(caught.value)


async def test_a_guardrail_without_a_list_lets_nothing_run_however_it_is_switched_on(tmp_path: Path) -> None:
    additions = Additions(features=RuntimeFeatures(guardrail=True))
    for text, added in (("guardrails: {enabled: true}\n", None), ("", additions)):
        (tmp_path / "config.yaml").write_text("config_version: 1\n" + ONE + text)
        source = ModelSource(tmp_path / "config.yaml", environ={})
        with pytest.raises(GuardrailUnavailable, match="it has no list"):
            await LeadAgent(source, tmp_path, additions=added).get_graph(RunOptions())


async def test_a_guardrail_decides_about_each_call(tmp_path: Path) -> None:
    use = "agent.middleware.guardrail:AllowlistProvider"
    text = f"guardrails: {{enabled: true, provider: {{use: '{use}', denied: [lookup]}}}}\n"
    agent = lead(tmp_path, ONE + text + f"tools: [{entry('lookup', 'lookup')}]\n", asks("lookup", word="ab"))
    values = await said(agent)
    assert values["messages"][-2].text.startswith("Not allowed: the tool lookup is not allowed here")


async def test_summaries_are_written_by_the_model_that_is_named(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="ok"),), spare=(Script(reply="what was said"),))
    text = TWO + (
        "summarization: {enabled: true, model_name: spare, keep: {type: messages, value: 2},\n"
        "  trigger: [{type: tokens, value: 100000}, {type: messages, value: 5}]}\n"
    )
    graph = (await lead(tmp_path, text, models).get_graph(RunOptions())).copy(
        {"checkpointer": InMemorySaver()}
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    for number in range(4):
        await graph.ainvoke({"messages": [HumanMessage(f"fact {number}")]}, config)
    assert "fact 0" in models.made["spare"].calls[0].texts[0]
    assert "what was said" in " ".join(models.made["m"].calls[-1].texts)


class Incomplete(Models):
    """Some of its models can't be made."""

    missing: tuple[str, ...] = ()

    def __call__(self, spec: ModelSpec, **_: object) -> ScriptedChatModel:
        if spec.name in self.missing:
            raise ModelUnavailable(f"{spec.name} lacks its package.")
        return super().__call__(spec)


FALLS_BACK = TWO + "model_calls: {retries: 0, fallback_models: [m, spare]}\n"


async def test_a_model_that_cannot_be_made_falls_back_until_it_can(tmp_path: Path) -> None:
    models = Incomplete(m=(Script(reply="mine"),), spare=(Script(reply="spare"),))
    models.missing = ("m",)
    agent = lead(tmp_path, FALLS_BACK, models)
    with structlog.testing.capture_logs() as logs:
        assert (await said(agent))["messages"][-1].text == "spare"
    told = [entry for entry in logs if entry["event"] == "model_left_out"]
    assert [(entry["model"], entry["detail"]) for entry in told] == [("m", "m lacks its package.")]
    models.missing = ("spare",)
    assert (await said(agent))["messages"][-1].text == "mine", "a fallback that is missing breaks nothing"
    models.missing = ("m", "spare")
    with pytest.raises(ModelUnavailable, match="m lacks its package"):
        await agent.get_graph(RunOptions())
    models.missing = ()
    assert await agent.get_graph(RunOptions()) is await agent.get_graph(RunOptions())


@pytest.mark.parametrize("broken", ["made", "asked"])
async def test_summaries_fall_back_as_answers_do(tmp_path: Path, broken: str) -> None:
    models = Incomplete(m=(Script(reply="written by m"),), spare=(Script(fail="auth"),))
    models.missing = ("spare",) if broken == "made" else ()
    text = FALLS_BACK + (
        "summarization: {enabled: true, model_name: spare, keep: {type: messages, value: 2},\n"
        "  trigger: [{type: messages, value: 5}]}\n"
    )
    agent, saver = lead(tmp_path, text, models), InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    for number in range(4):
        graph = (await agent.get_graph(RunOptions())).copy({"checkpointer": saver})
        values = await graph.ainvoke({"messages": [HumanMessage(f"fact {number}")]}, config)
    assert "written by m" in values["messages"][0].text
    assert len(values["messages"]) < 8


async def test_a_thread_gets_its_title_as_configured(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="Fine"),))
    text = ONE.replace("{enabled: false}", "{max_words: 3}")
    assert (await said(lead(tmp_path, text, models), "my trip to Rome"))["title"] == "my trip to"
    assert len(models.made["m"].calls) == 1


async def test_new_files_of_a_thread_are_announced(tmp_path: Path) -> None:
    models = Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, ONE, models)
    uploads = tmp_path / "home/threads/t/user-data/uploads"
    uploads.mkdir(parents=True)
    (uploads / "notes.txt").write_text("the content")
    await said(agent, "read it")
    heard = models.made["m"].calls[0].texts[-1]
    assert "notes.txt" in heard
    assert "the content" in heard


async def test_features_and_extras_of_code_stand_for_those_of_the_file(tmp_path: Path) -> None:
    fact = '{"content": "Likes tea.", "category": "preference", "confidence": 0.9}'
    models = Models(m=(Script(reply="ok"),), spare=(Script(reply=f'{{"add": [{fact}]}}'),))
    path = tmp_path / "config.yaml"
    memory = "memory: {enabled: false, debounce_seconds: 0, model_name: spare}\n"
    path.write_text("config_version: 1\n" + TWO.replace("false", "true") + memory)
    source = ModelSource(path, environ={}, cwd=tmp_path, clock=lambda: 0.0)
    additions = Additions(features=RuntimeFeatures(memory=True, summarization=True))
    agent = LeadAgent(source, tmp_path / "home", additions=additions, make_model=models)
    saver = InMemorySaver()
    for thread, text in (("a", "I like tea"), ("b", "What do I like?")):
        graph = (await agent.get_graph(RunOptions(plan_mode=thread == "b"))).copy({"checkpointer": saver})
        config: Any = {"configurable": {"thread_id": thread, "user_id": "web:1", "chat_kind": "private"}}
        values = await graph.ainvoke({"messages": [HumanMessage(text)]}, config)
        await agent.memory.wait_until_idle()
    assert "I like tea" in models.made["spare"].calls[0].texts[-1]
    assert "Likes tea." in models.made["m"].calls[-1].texts[0], "one memory for all graphs"
    assert "title" not in values
    assert values["thread_data"]["workspace_path"]
    assert str(tmp_path / "home") in values["thread_data"]["uploads_path"]
    await agent.aclose()


def profile(folder: Path, name: str, config: str | None = None, soul: str | None = None) -> None:
    place = folder / "home" / "agents" / name
    place.mkdir(parents=True)
    if config is not None:
        (place / "config.yaml").write_text(config)
    if soul is not None:
        (place / "SOUL.md").write_text(soul)


TOOLS = f"tools: [{entry('lookup', 'lookup')}, {entry('spell', 'plain', group='letters')}]\n"


async def test_an_agent_of_ones_own_has_its_model_tools_and_personality(tmp_path: Path) -> None:
    profile(tmp_path, "coder", "model: spare\ntool_groups: letters\n", "You love short names.\n")
    models = Models(m=(Script(reply="lead"),), spare=(Script(reply="coder"),))
    agent = lead(tmp_path, TWO + TOOLS, models)
    values = await said(agent, switches=RunOptions.of({"agent_name": "Coder"}))
    assert values["messages"][-1].text == "coder"
    [heard] = models.made["spare"].calls
    assert set(heard.tools) == {"spell", "ask_clarification", "task"}
    assert "<personality>\nYou love short names.\n</personality>" in heard.texts[0]
    assert (await said(agent))["messages"][-1].text == "lead"
    everything = {"lookup", "spell", "ask_clarification", "task"} | {tool.name for tool in sandbox_tools()}
    assert set(models.made["m"].calls[0].tools) == everything


async def test_the_model_that_is_asked_for_comes_before_the_agents_own(tmp_path: Path) -> None:
    profile(tmp_path, "coder", "model: spare\n")
    models = Models(m=(Script(reply="asked for"),), spare=(Script(reply="own"),))
    values = await said(lead(tmp_path, TWO, models), switches=RunOptions(agent_name="coder", model_name="m"))
    assert values["messages"][-1].text == "asked for"


async def test_a_changed_agent_is_seen_by_the_next_run(tmp_path: Path) -> None:
    profile(tmp_path, "coder", soul="One.")
    models = Models(m=(Script(reply="ok"),))
    agent = lead(tmp_path, ONE, models)
    first = await agent.get_graph(RunOptions(agent_name="coder"))
    assert await agent.get_graph(RunOptions(agent_name="coder")) is first
    (tmp_path / "home/agents/coder/SOUL.md").write_text("Two.")
    assert await agent.get_graph(RunOptions(agent_name="coder")) is not first
    assert await agent.get_graph(RunOptions(agent_name="CODER")) is await agent.get_graph(
        RunOptions(agent_name="coder")
    )


@pytest.mark.parametrize(
    "name", ["writer", "../coder", "coder/../coder", ".", "co der", "ü", "x" * 65, "coder\n.."]
)
async def test_a_name_that_no_agent_has(tmp_path: Path, name: str) -> None:
    profile(tmp_path, "coder")
    profile(tmp_path, "artist")
    (tmp_path / "home/agents/.hidden").mkdir()
    with pytest.raises(ProfileUnknown, match=r"no agent named .* Available: artist, coder\.") as caught:
        await lead(tmp_path, ONE).get_graph(RunOptions(agent_name=name))
    assert caught.value.known == ("artist", "coder")


async def test_without_any_agent(tmp_path: Path) -> None:
    with pytest.raises(ProfileUnknown, match=r"Available: none\."):
        await lead(tmp_path, ONE).get_graph(RunOptions(agent_name="coder"))


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("modle: m\n", "agents/coder/config.yaml:1: modle: unknown key; did you mean model?"),
        ("skills: [1]\n", "agents/coder/config.yaml:1: skills[0]: expected a string"),
        ("model: [\n", "agents/coder/config.yaml:2: is not valid YAML"),
        ("model: $GONE_NAME\n", "the environment variable GONE_NAME is not set"),
        (
            "tool_groups: [maps]\n",
            "coder/config.yaml: tool_groups: the tool group maps is not configured (known: bash, file:read, "
            "file:write, letters, web, words)",
        ),
    ],
)
async def test_an_agent_whose_file_is_wrong(tmp_path: Path, config: str, told: str) -> None:
    profile(tmp_path, "coder", config)
    with pytest.raises(ProfileBroken) as caught:
        await lead(tmp_path, ONE + TOOLS).get_graph(RunOptions(agent_name="coder"))
    assert str(caught.value).startswith('The agent "coder" can\'t be used: ')
    assert told in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


async def test_an_agent_with_a_model_that_is_not_there(tmp_path: Path) -> None:
    profile(tmp_path, "coder", "model: gone\n")
    agent = lead(tmp_path, ONE, Models(m=(Script(reply="ok"),)))
    with pytest.raises(ProfileBroken) as caught:
        await agent.get_graph(RunOptions(agent_name="coder"))
    place = 'agents/coder/config.yaml: model: there is no model named "gone" (known: m).'
    assert str(caught.value) == f'The agent "coder" can\'t be used: {place}'
    assert await agent.get_graph(RunOptions(agent_name="coder", model_name="m")), "another one was asked for"


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"\xff\xfe", "SOUL.md: is not UTF-8 text"), (b"x" * 50_001, "SOUL.md: is larger than 50,000 bytes")],
)
async def test_a_personality_that_cannot_be_read(tmp_path: Path, content: bytes, told: str) -> None:
    profile(tmp_path, "coder")
    (tmp_path / "home/agents/coder/SOUL.md").write_bytes(content)
    with pytest.raises(ProfileBroken, match=told):
        await lead(tmp_path, ONE).get_graph(RunOptions(agent_name="coder"))


def test_the_switches_of_a_run() -> None:
    assert RunOptions.of({}) == RunOptions()
    assert RunOptions.of(
        {
            "model_name": "a",
            "x-model": "b",
            "thinking_enabled": True,
            "reasoning_effort": "high",
            "is_plan_mode": True,
            "subagent_enabled": True,
            "agent_name": "coder",
            "steerable": True,
        }
    ) == RunOptions("a", True, "high", True, True, "coder", True)
    assert RunOptions.of({"x-model": "b"}).model_name == "b"
    assert RunOptions.of({"is_plan_mode": "yes", "agent_name": 5, "model_name": ["a"]}) == RunOptions()


@pytest.mark.parametrize("missing", [(), ("spare",)])
async def test_a_title_is_written_by_the_model_that_is_named(
    tmp_path: Path, missing: tuple[str, ...]
) -> None:
    slow = Script(reply="Fine", delay=0.05)
    models = Incomplete(m=(slow,), spare=(Script(reply="by spare"),))
    models.missing = missing
    text = TWO.replace("{enabled: false}", "{model_name: spare, prompt_template: 'Name this: {user}'}")
    agent = lead(tmp_path, text, models)
    assert (await said(agent, "my trip"))["title"] == ("my trip" if missing else "by spare")
    if not missing:
        assert models.made["spare"].calls[0].texts == ["Name this: my trip"]
