"""The lead agent and the embedded client hold conversations with providers as strict as the real ones."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from agent.client import AgentClient
from agent.errors import ModelCallFailed
from agent.models.failure_texts import cut_off_note
from agent.models.providers import PROVIDERS
from tests.harness.strict_agent import CALLS, CONFIG, ENDLESS, StrictAgent, rains, strict_agent
from tests.harness.strict_providers import STRICT, Reply
from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.responses import StrictResponses

pytestmark = pytest.mark.may_block
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
BITMAP = {**IMAGE, "mime_type": "image/bmp"}
SEES = {"openai", "responses", "anthropic", "gemini", "mistral"}
"""Providers whose default model has vision."""
QUESTION = {"type": "text", "text": "What is this?"}


@pytest.fixture(params=STRICT)
async def talk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[str, StrictAgent]]:
    async with strict_agent(tmp_path, [request.param]) as agent:
        yield request.param, agent


@pytest.mark.guard(
    "calls carry the signature that Gemini gave them, or the placeholder",
    "agent/models/compatible_chat.py",
    "                if signature:",
    "                if False:",
    against="Gemini",
    case="gemini",
)
@pytest.mark.guard(
    "results carry the name of their function",
    "agent/models/compatible_chat.py",
    '                wire["name"] = name',
    "                pass",
    against="Gemini",
    case="gemini",
)
@pytest.mark.guard(
    "tools have the fields of Gemini's schemas only",
    "agent/models/compatible_chat.py",
    '                tool["function"] = reduce_function(function)',
    '                tool["function"] = dict(function)',
    against="Gemini",
    case="gemini",
)
@pytest.mark.guard(
    "answers come back with their reasoning",
    "agent/models/compatible_chat.py",
    '        return {REASONING: str(source.additional_kwargs.get(REASONING) or "")}',
    "        return {}",
    against="DeepSeek",
    case="deepseek",
)
@pytest.mark.guard(
    "answers have no name for Mistral",
    "agent/models/wire_messages.py",
    '    return {"role": role, "content": text, **extra} if text else None',
    '    return {**wire, "content": text, **extra, REPLAY: {}} if text else None',
    against="Mistral",
    case="mistral",
)
@pytest.mark.guard(
    "answers have no name for Groq",
    "agent/models/wire_messages.py",
    '    return {"role": role, "content": text, **extra} if text else None',
    '    return {**wire, "content": text, **extra, REPLAY: {}} if text else None',
    against="Groq",
    case="groq",
)
@pytest.mark.guard(
    "reasoning comes back",
    "agent/models/compatible_chat.py",
    '        return {"reasoning_details": join_fragments(fragments)} if fragments else {}',
    "        return {}",
    against="OpenRouter",
    case="openrouter",
)
@pytest.mark.guard(
    "fragments of reasoning come back as the blocks that they were",
    "agent/models/compatible_chat.py",
    '        return {"reasoning_details": join_fragments(fragments)} if fragments else {}',
    '        return {"reasoning_details": fragments} if fragments else {}',
    against="OpenRouter",
    case="openrouter",
)
@pytest.mark.guard(
    "an answer that was cut off says so",
    "agent/models/calls.py",
    "                _mark_cut_off(message, cut_off_note(locale))\n",
    "",
    against="every provider",
    case="openai",
)
async def test_a_conversation(talk: tuple[str, StrictAgent]) -> None:
    """Turns with parallel calls, an image, stops in an answer and in a call, an answer that was cut off."""
    name, agent = talk
    provider = agent.providers[name]
    provider.reply(*rains("Let me see.", "", "It rains."))
    assert await agent.chat(name, "The weather in Oslo and Rome?") == "It rains."
    provider.reply(Reply(text="A red dot."))
    assert (await agent.say(name, QUESTION, IMAGE)).text == "A red dot."
    provider.reply(Reply(text="This answer never ends", endless=True))
    await agent.stop(name, "Tell me a story.")
    provider.reply(Reply(text="Moment.", calls=ENDLESS))
    await agent.stop(name, "And the weather nowhere?")
    provider.reply(Reply(text="Once upon a", finish="length"), Reply(text="time there was a bot."))
    assert await agent.chat(name, "Another story.") == f"Once upon a\n\n{cut_off_note('en')}"
    assert await agent.chat(name, "Continue") == "time there was a bot."
    provider.reply(*rains("", "Still rain."))
    assert await agent.chat(name, "And the weather now?") == "Still rain."
    assert agent.rejections == {}
    assert agent.is_done
    assert provider.stopped == 1
    assert f"rain in {CALLS[1][1]['city']}" in json.dumps(provider.requests[-1])


async def test_an_image_that_the_model_opens(talk: tuple[str, StrictAgent], tmp_path: Path) -> None:
    name, agent = talk
    provider = agent.providers[name]
    (tmp_path / "dot.png").write_bytes(base64.b64decode(PIXEL))
    agent.client.upload_files("t", [tmp_path / "dot.png"])
    opened = Reply(calls=(("view_image", {"path": "/mnt/user-data/uploads/dot.png"}),))
    provider.reply(opened, Reply(text="A red dot."), *rains("", "It rains."))
    assert await agent.chat(name, "What is in dot.png?") == "A red dot."
    assert await agent.chat(name, "And the weather?") == "It rains."
    assert agent.rejections == {}
    assert (PIXEL in json.dumps(provider.requests)) is (name in SEES)


async def test_a_rejected_image_never_ends_a_thread(talk: tuple[str, StrictAgent]) -> None:
    name, agent = talk
    provider = agent.providers[name]
    provider.reply(*rains("", "It rains."))
    assert await agent.chat(name, "The weather?") == "It rains."
    if name in SEES:
        with pytest.raises(ModelCallFailed) as caught:
            await agent.say(name, QUESTION, BITMAP)
        assert caught.value.category == "invalid_request"
        provider.reply(Reply(text="I can't see it."))
        assert await agent.chat(name, "And now?") == "I can't see it."
    else:
        provider.reply(Reply(text="I can't see it."))
        assert (await agent.say(name, QUESTION, BITMAP)).text == "I can't see it."
    rejected = len(provider.rejections)
    provider.reply(*rains("", "Still rain."))
    assert await agent.chat(name, "And the weather now?") == "Still rain."
    assert len(provider.rejections) == rejected, "what was rejected is not sent again"


@pytest.mark.long
async def test_a_thread_is_switched_from_every_provider_to_every_other(tmp_path: Path) -> None:
    """With calls in every turn, in an order in which each follows each other one once."""
    order = visit_pairs(list(STRICT))
    assert len(set(pairwise(order))) == len(STRICT) * (len(STRICT) - 1)
    async with strict_agent(tmp_path) as agent:
        for start in range(0, len(order) - 1, 8):
            for name in order[start : start + 9]:
                agent.providers[name].reply(*rains("Moment.", "It rains."))
                assert await agent.chat(name, "The weather?", f"t{start}") == "It rains.", name
        assert agent.rejections == {}


@pytest.mark.guard(
    "ids of calls have nine letters and digits",
    "agent/models/compatible_chat.py",
    "        map_call_ids(wires, {one: shorten_id(one) for one in list_call_ids(wires)})",
    "        map_call_ids(wires, {})",
    against="Mistral",
)
async def test_a_thread_is_switched_through_all_providers(tmp_path: Path) -> None:
    """And stopped, cut off and shown an image by one that the next one has to go on from."""
    async with strict_agent(tmp_path) as agent:
        for name in [*STRICT, next(iter(STRICT))]:
            provider = agent.providers[name]
            provider.reply(*rains("Moment.", "It rains."))
            assert (await agent.say(name, QUESTION, IMAGE)).text == "It rains."
            provider.reply(Reply(text="Once upon a", finish="length"))
            assert (await agent.chat(name, "A story.")).endswith(cut_off_note("en"))
            provider.reply(Reply(text="Moment.", calls=ENDLESS))
            await agent.stop(name, "And the weather nowhere?")
        assert agent.rejections == {}
        assert agent.is_done


async def test_every_key_in_the_environment_enables_a_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without configured models, as somebody starts who has exported keys."""
    environ = {one.variables[0]: "key" for one in PROVIDERS}
    providers = {name: STRICT[name]() for name in STRICT if name != "responses"}
    async with AsyncExitStack() as stack:
        for name, provider in providers.items():
            url = await stack.enter_async_context(provider.serve())
            environ[f"{name.upper()}_BASE_URL"] = url
            # The clients of OpenAI and Anthropic read their own variable.
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", url)
        environ["OLLAMA_HOST"] = environ["OLLAMA_BASE_URL"].removesuffix("/v1")
        client = AgentClient(CONFIG, read_file=False, home=tmp_path, environ=environ)
        stack.callback(client.close)
        for name, provider in providers.items():
            provider.reply(*rains("Moment.", "It rains."), Reply(text="Still rain."))
            assert await client.achat("The weather?", "t", model_name=name) == "It rains."
            assert await client.achat("And now?", "t", model_name=name) == "Still rain."
    assert {name: one.rejections for name, one in providers.items()} == {name: [] for name in providers}


@pytest.mark.guard(
    "a rejected conversation is sent again in a reduced form",
    "agent/models/calls.py",
    "            if error.category not in _REJECTED or messages is None:\n                raise",
    "            raise",
    against="Anthropic",
    case="anthropic",
)
@pytest.mark.guard(
    "the thread remembers what was rejected",
    "agent/models/calls.py",
    "                message.response_metadata[SIMPLIFIED_KEY] = True",
    "                pass",
    against="every provider",
    case="responses",
)
@pytest.mark.parametrize("name", ["anthropic", "responses"])
async def test_what_a_provider_forgot_is_sent_again_by_no_process(name: str, tmp_path: Path) -> None:
    """Of client and lead agent, which share nothing but the state of the thread."""
    async with strict_agent(tmp_path, [name]) as agent:
        provider = agent.providers[name]
        provider.reply(*rains("Moment.", "It rains."))
        await agent.chat(name, "The weather?")
        assert isinstance(provider, StrictAnthropic | StrictResponses)
        provider.forget()
        provider.reply(*rains("Moment.", "Still rain."))
        assert await agent.chat(name, "And now?") == "Still rain."
        provider.reply(*rains("Moment.", "No change."))
        assert (await agent.say(name, "And now?")).text == "No change."
        assert len(provider.rejections) == 1


def visit_pairs(names: list[str]) -> list[str]:
    """Return an order in which each name follows each other one once (an Eulerian circuit)."""
    left = {name: [other for other in names if other != name] for name in names}
    path, circuit = [names[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            circuit.append(path.pop())
    return circuit[::-1]
