"""Models that cause trouble: what they answer, and what people have to be told.

The provider is otherwise as strict as the real one, so a spoiled thread is noticed with the next message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.harness.strict_providers.server import Body, RawReply, Reply

AnyReply = Reply | RawReply
CONFIG: dict[str, Any] = {
    "title": {"enabled": False},
    "memory": {"enabled": False},
    "sandbox": {"enabled": False},
    "summarization": {"enabled": False},
    "web_tools": {"enabled": False},
    "model_calls": {"retries": 1, "retry_delay_seconds": 0},
    "run_limits": {"tool_calls": 12, "tokens": 60_000, "cost": 2.0},
    "tools": [
        {"name": name, "group": "words", "use": f"tests.harness.lookup_tools:{name}"}
        for name in ("lookup", "poll", "wait")
    ],
}
CHEAP, COSTLY = {"input": 1, "output": 1}, {"input": 50, "output": 50}


def make_models(url: str) -> list[dict[str, Any]]:
    """Return a cheap and a costly model of the same provider."""
    known = {"use": "langchain_openai:ChatOpenAI", "model": "some-model", "api_key": "k", "base_url": url}
    cheap = {**known, "name": "cheap", "stream_usage": True, "price": CHEAP}
    return [cheap, {**cheap, "name": "costly", "price": COSTLY}]


@dataclass(frozen=True)
class Trouble:
    """A model and what it leads to: each text of `told` is in the person's, in the language of its key.

    `make` returns the answers to the requests of one run. `fails`: the run ends with an error.
    """

    make: Callable[[], Callable[[Body], AnyReply]]
    told: dict[str, tuple[str, ...]]
    fails: bool = False
    model: str = "cheap"
    unsaid: tuple[str, ...] = field(default=())


def event(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    """Return a chunk of an answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "some-model"}
    return b"data: " + json.dumps({**head, "choices": [choice], **more}).encode() + b"\n\n"


def stream(*deltas: Any, finish: str = "stop", tokens: int = 0) -> RawReply:
    """Return an answer of these deltas that ends as it should."""
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    pieces = [event(delta) for delta in deltas]
    return RawReply((*pieces, event({}, finish, **({"usage": usage} if tokens else {})), b"data: [DONE]\n\n"))


def call_delta(name: str, arguments: Any, one: Any = "c1", index: int = 0) -> Body:
    """Return a delta with a call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": one, "type": "function", "function": function}]}


def in_turn(*replies: AnyReply) -> Callable[[], Callable[[Body], AnyReply]]:
    """Give these answers one after the other; the last one again and again."""

    def make() -> Callable[[Body], AnyReply]:
        left = list(replies)
        return lambda _: left.pop(0) if len(left) > 1 else left[0]

    return make


def for_ever(answer: Callable[[int], AnyReply]) -> Callable[[], Callable[[Body], AnyReply]]:
    """Answer by the number of the request."""

    def make() -> Callable[[Body], AnyReply]:
        number: Iterator[int] = count()
        return lambda _: answer(next(number))

    return make


def lookups(*words: str) -> Reply:
    return Reply(calls=tuple(("lookup", {"word": word}) for word in words))


def delegate() -> Callable[[Body], AnyReply]:
    """The lead agent delegates again and again; its subagents look words up and try to delegate as well."""
    number = count()

    def answer(body: Body) -> AnyReply:
        at = next(number)
        task = {"description": "look it up", "prompt": f"task {at}"}
        if any(one["function"]["name"] == "task" for one in body["tools"]):
            return Reply(calls=(("task", task),))
        return Reply(calls=(("task", task),)) if at % 3 == 0 else lookups(f"w{at}")

    return answer


def cut_subagent(reply: AnyReply) -> Callable[[], Callable[[Body], AnyReply]]:
    """A subagent reaches the limit of tokens with this answer; the lead agent sums up."""

    def answer(body: Body) -> AnyReply:
        if not any(one["function"]["name"] == "task" for one in body["tools"]):
            return reply
        if body["messages"][-1]["role"] == "tool":
            return Reply(text=f"It said: {body['messages'][-1]['content']}")
        return Reply(calls=(("task", {"description": "list", "prompt": "list all"}),))

    return lambda: answer


def whole(delta: Body, finish: str) -> RawReply:
    """Return an answer in one body."""
    message = {"role": "assistant", "content": None, **delta}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "some-model"}
    body = json.dumps({**head, "choices": choices}).encode()
    return RawReply((body,), headers={"Content-Type": "application/json"})


LIMIT = {
    "en": (
        "I stopped here because this run reached its limit of 12 tool calls. Done so far: lookup (12). "
        "Send another message to continue.",
    ),
    "zh": (
        "本次运行已达到上限（12 次工具调用），我先停在这里。目前已完成：lookup 12 次。",
        "如需继续，请再发一条消息。",
    ),
}
UNREADABLE = {
    "en": (
        "I could not call lookup, because the arguments that I wrote were unreadable, even when I tried "
        "again. Ask me to take smaller steps, or choose another model.",
    ),
    "zh": ("我没能调用 lookup：写出的参数无法读取，重试后仍然如此。可以让我把任务拆小一些，或换一个模型。",),
}


def failed(english: str, chinese: str) -> dict[str, tuple[str, ...]]:
    return {
        "en": (f'The model "cheap" failed: {english}.',),
        "zh": (f"模型“cheap”调用失败：{chinese}。",),
    }


def answered(text: str) -> dict[str, tuple[str, ...]]:
    return {"en": (text,), "zh": (text,)}


MALFORMED = failed("its provider sent an unreadable response", "服务商的响应无法识别")
EMPTY = failed("it returned an empty answer", "回答为空")
FINE = Reply(text="It means 42.")
WRITTEN = '<tool_call>\n{"name": "lookup", "arguments": {"word": "tea"}}\n</tool_call>'
LONG = "All about tea, at length. " * 800 + "That was all."

TROUBLES: dict[str, Trouble] = {
    "the same call for ever": Trouble(
        for_ever(lambda _: lookups("tea")),
        {
            "en": (
                "I stopped because I was making the same call again and again without any progress.",
                "Tell me how to continue, or ask me to try another way.",
            ),
            "zh": ("我反复进行同样的调用，没有任何进展", "请告诉我接下来怎么做"),
        },
    ),
    "other calls for ever": Trouble(for_ever(lambda at: lookups(f"w{at}")), LIMIT),
    "parallel calls for ever": Trouble(
        for_ever(lambda at: lookups(*(f"w{at}-{number}" for number in range(5)))), LIMIT
    ),
    "a hundred calls at once": Trouble(in_turn(lookups(*(f"w{number}" for number in range(100)))), LIMIT),
    "subagents for ever": Trouble(
        delegate,
        {
            "en": ("reached its limit of 12 tool calls. Done so far: ", "task (", "lookup ("),
            "zh": ("12 次工具调用", "task ", "lookup "),
        },
    ),
    "polling that makes progress": Trouble(
        in_turn(*[Reply(calls=(("poll", {}),))] * 9, Reply(text="The work is done.")),
        answered("The work is done."),
        unsaid=("stopped", "停"),
    ),
    "polling without progress": Trouble(
        for_ever(lambda _: Reply(calls=(("wait", {}),))),
        {
            "en": ("again and again",),
            "zh": ("同样的调用，",),
        },
    ),
    "too many tokens": Trouble(
        for_ever(lambda at: stream(call_delta("lookup", f'{{"word": "w{at}"}}', f"c{at}"), tokens=15_000)),
        {
            "en": ("reached its limit of 60,000 tokens. Done so far: lookup (", "Send another message"),
            "zh": ("60,000 个 Token", "如需继续，请再发一条消息。"),
        },
    ),
    "too much money": Trouble(
        for_ever(lambda at: stream(call_delta("lookup", f'{{"word": "w{at}"}}', f"c{at}"), tokens=8_000)),
        {
            "en": ("reached its limit of 2 USD. Done so far: lookup (", "Send another message to continue."),
            "zh": ("2 USD", "如需继续，请再发一条消息。"),
        },
        model="costly",
    ),
    "arguments that are no JSON": Trouble(in_turn(stream(call_delta("lookup", "word: is it?"))), UNREADABLE),
    "arguments of a wrong type": Trouble(
        in_turn(Reply(calls=(("lookup", {"word": {"deep": [1]}}),))),
        {"en": ("again and again",), "zh": ("同样的调用，",)},
    ),
    "unknown tools": Trouble(
        for_ever(lambda at: Reply(calls=((f"do_{at}", {"x": at}),))),
        {
            "en": ("reached its limit of 12 tool calls. No tool was used. Send another message",),
            "zh": ("12 次工具调用", "还没有使用任何工具。"),
        },
    ),
    "names that no provider accepts": Trouble(
        in_turn(stream(call_delta("functions.lookup<|channel|>x", '{"word": "tea"}')), FINE),
        answered("It means 42."),
    ),
    "an empty answer": Trouble(in_turn(stream({"role": "assistant", "content": ""})), EMPTY, fails=True),
    "only reasoning": Trouble(in_turn(stream({"reasoning_content": "They ask."})), EMPTY, fails=True),
    "a text that is a number": Trouble(in_turn(stream({"content": 42})), MALFORMED, fails=True),
    "calls that are a text": Trouble(in_turn(stream({"tool_calls": "lookup"})), MALFORMED, fails=True),
    "arguments that are an object": Trouble(
        in_turn(stream(call_delta("lookup", {"word": "tea"}))), MALFORMED, fails=True
    ),
    "no choices": Trouble(
        in_turn(RawReply((b'data: {"choices": null}\n\n', b"data: [DONE]\n\n"))), EMPTY, fails=True
    ),
    "a call written as text": Trouble(
        in_turn(stream({"content": WRITTEN}), FINE), answered("It means 42."), unsaid=("tool_call",)
    ),
    "one id for two calls": Trouble(
        in_turn(
            stream(
                call_delta("lookup", '{"word": "tea"}', "c1", 0),
                call_delta("lookup", '{"word": "milk"}', "c1", 1),
            ),
            FINE,
        ),
        answered("It means 42."),
    ),
    "no ids": Trouble(
        in_turn(
            stream(
                call_delta("lookup", '{"word": "tea"}', None, 0),
                call_delta("lookup", '{"word": "milk"}', "", 1),
            ),
            FINE,
        ),
        answered("It means 42."),
    ),
    "the same ids in every answer": Trouble(
        in_turn(*(stream(call_delta("lookup", f'{{"word": "w{n}"}}', "call_0")) for n in range(3)), FINE),
        answered("It means 42."),
    ),
    "a very long answer": Trouble(
        in_turn(stream(*({"content": LONG[at : at + 1_000]} for at in range(0, len(LONG), 1_000)))),
        {language: ("All about tea", "That was all.") for language in ("en", "zh")},
    ),
    "half an emoji": Trouble(
        in_turn(stream({"content": "Tea \ud83d"}, {"content": "\ude00 is \ud83d good."})),
        answered("Tea 😀 is \N{REPLACEMENT CHARACTER} good."),
    ),
    "half an emoji in arguments": Trouble(
        in_turn(stream(call_delta("lookup", '{"word": "\\ud83d"}')), FINE), answered("It means 42.")
    ),
    "bytes that are no text": Trouble(
        in_turn(RawReply((event({"content": "Tea"}), b'data: {"choices": [{"delta": "\xff\xfe"}]}\n\n'))),
        MALFORMED,
        fails=True,
    ),
    "events that are no JSON": Trouble(
        in_turn(RawReply((event({"content": "Tea is"}), b'data: {"choices": [{\n\n'))), MALFORMED, fails=True
    ),
    "a page in place of a stream": Trouble(
        in_turn(RawReply((b"<html>Bad gateway</html>",), headers={"Content-Type": "text/html"})),
        MALFORMED,
        fails=True,
    ),
    "a closed connection": Trouble(
        in_turn(RawReply((event({"content": "Tea is"}),), breaks_off=True)),
        failed("its provider can't be reached, or the connection was lost", "无法连接服务商，或连接中断"),
        fails=True,
    ),
    "a stream that ends early": Trouble(
        in_turn(RawReply((event({"content": "Tea is"}),))),
        failed("the answer was cut off", "回答中断"),
        fails=True,
    ),
    "errors of the server": Trouble(
        in_turn(RawReply((b"oh no",), 500)),
        failed("its provider is overloaded or unavailable", "服务繁忙或暂时不可用"),
        fails=True,
    ),
    "a limit that passes": Trouble(
        in_turn(RawReply(status=429, headers={"retry-after": "0.05"}), FINE), answered("It means 42.")
    ),
    "a limit that lasts": Trouble(
        in_turn(RawReply(status=429, headers={"retry-after": "900"})),
        failed(
            "its provider's rate limit has been reached; try again later (retry after 900 s)",
            "已达到服务商的限流上限，请稍后再试（900 秒后可重试）",
        ),
        fails=True,
    ),
    "cut off in its text": Trouble(
        in_turn(Reply(text="Tea is a plant", finish="length")),
        {
            "en": ("Tea is a plant", "(This answer reached the model's length limit. Ask me to continue"),
            "zh": (
                "Tea is a plant",
                "（回答达到了模型的长度上限，后面的内容没有写完。如需继续，请让我接着写。）",
            ),
        },
    ),
    "cut off before its text": Trouble(
        in_turn(stream({"role": "assistant", "content": ""}, finish="length")),
        failed(
            "it reached its limit of tokens before it wrote anything. Raise max_tokens in the configuration",
            "还没写出内容就达到了 Token 上限，请在配置中调高 max_tokens",
        ),
        fails=True,
    ),
    "cut off in its arguments": Trouble(
        in_turn(stream(call_delta("lookup", '{"word": "a long'), finish="length")), UNREADABLE
    ),
    "cut off in a subagent": Trouble(
        cut_subagent(Reply(text="The list begins with", finish="length")),
        {
            "en": ("It said: The list begins with", "This answer reached the model's length limit"),
            "zh": ("It said: The list begins with", "长度上限"),
        },
    ),
    "cut off in the arguments of a subagent": Trouble(
        cut_subagent(whole(call_delta("lookup", '{"word": "a long'), "length")),
        {
            "en": ("It said: I could not call lookup, because",),
            "zh": ("It said: 我没能调用 lookup：",),
        },
    ),
}
"""By the name of the trouble."""
