"""A conversation in pieces: everything is in one, in order, and none is too large."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from agent.middleware.rolling_summary import render_message, split_conversation, split_text
from agent.models.capabilities import estimate_tokens


def test_who_said_and_did_what() -> None:
    call = AIMessage(
        content=[
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        ],
        tool_calls=[tool_call(name="look", args={"at": "Zürich & <b>"}, id="c1")],
    )
    assert (
        render_message(call) == 'Assistant: Let me look.\nAssistant called look with {"at": "Zürich & <b>"}'
    )
    assert render_message(ToolMessage("saw", tool_call_id="c1", name="look")) == "Result of look: saw"
    assert render_message(ToolMessage("saw", tool_call_id="c1")) == "Result of a tool: saw"
    picture = HumanMessage(content=["see ", {"type": "image", "base64": "xxxx", "mime_type": "image/png"}])
    assert render_message(picture) == "Person: see [image]"
    assert render_message(SystemMessage("be kind")) == "System: be kind"


def test_short_messages_stay_together_and_whole() -> None:
    messages: list[AnyMessage] = [HumanMessage(f"fact number {number}") for number in range(100)]
    found = split_conversation(messages, 100)
    assert len(found) > 5
    assert all(estimate_tokens(piece) <= 110 for piece in found)
    assert [line for piece in found for line in piece.splitlines()] == [render_message(m) for m in messages]
    assert split_conversation(messages, 100_000) == ["\n".join(render_message(m) for m in messages)]
    assert split_conversation([], 100) == []


@given(st.text(alphabet="ab 中\n", min_size=1, max_size=4_000), st.integers(30, 400))
def test_a_long_message_is_split_without_a_gap(text: str, tokens: int) -> None:
    at = 0
    for part in split_text(text, tokens):
        start = text.rfind(part, 0, at + len(part))
        assert start >= 0, "each part starts inside of the one before, or right behind it"
        assert estimate_tokens(part) <= tokens + 3
        at = max(at, start + len(part))
    assert at == len(text)
