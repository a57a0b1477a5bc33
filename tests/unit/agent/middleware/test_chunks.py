"""A conversation in pieces: everything is in one, in order, and none is too large."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from agent.middleware.chunks import pieces, rendered, split
from agent.models.window import estimate


def test_who_said_and_did_what() -> None:
    call = AIMessage(
        content=[
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        ],
        tool_calls=[tool_call(name="look", args={"at": "Zürich & <b>"}, id="c1")],
    )
    assert rendered(call) == 'Assistant: Let me look.\nAssistant called look with {"at": "Zürich & <b>"}'
    assert rendered(ToolMessage("saw", tool_call_id="c1", name="look")) == "Result of look: saw"
    assert rendered(ToolMessage("saw", tool_call_id="c1")) == "Result of a tool: saw"
    picture = HumanMessage(content=["see ", {"type": "image", "base64": "xxxx", "mime_type": "image/png"}])
    assert rendered(picture) == "Person: see [image]"
    assert rendered(SystemMessage("be kind")) == "System: be kind"


def test_short_messages_stay_together_and_whole() -> None:
    messages: list[AnyMessage] = [HumanMessage(f"fact number {number}") for number in range(100)]
    found = pieces(messages, 100)
    assert len(found) > 5
    assert all(estimate(piece) <= 110 for piece in found)
    assert [line for piece in found for line in piece.splitlines()] == [rendered(m) for m in messages]
    assert pieces(messages, 100_000) == ["\n".join(rendered(m) for m in messages)]
    assert pieces([], 100) == []


@given(st.text(alphabet="ab 中\n", min_size=1, max_size=4_000), st.integers(30, 400))
def test_a_long_message_is_split_without_a_gap(text: str, tokens: int) -> None:
    at = 0
    for part in split(text, tokens):
        start = text.rfind(part, 0, at + len(part))
        assert start >= 0, "each part starts inside of the one before, or right behind it"
        assert estimate(part) <= tokens + 3
        at = max(at, start + len(part))
    assert at == len(text)
