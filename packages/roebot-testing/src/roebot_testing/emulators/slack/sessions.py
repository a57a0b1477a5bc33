"""Agents: sessions of threads, suggested prompts and titles, for apps that are declared as agents.

From docs.slack.dev/ai/agent-sessions and the pages of the methods and events. What these leave open is as
people who tried it report: an app that is no agent gets not_authorized (kirodotdev/KiroCrew#9822), a status
outside the list invalid_arguments (NousResearch/hermes-agent#113698); streams open sessions and end their
work, and Slack ends the status `processing` after an hour (NousResearch/hermes-agent#90978).
"""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.slack.calls import SlackCall, SlackMethod
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.state import AgentSession, AppView, SlackChannel
from roebot_testing.emulators.transcript import FrameKind

ACTIVE, PROCESSING = "active", "processing"
STATUSES = (ACTIVE, PROCESSING, "suspended", "closed")
PROCESSING_SECONDS = 3600.0
"""Seconds after which Slack itself ends the status `processing`."""
MAX_PROMPTS = 4
"""Suggested prompts that are shown together (docs.slack.dev, assistant.threads.setSuggestedPrompts)."""
STOPPED_EVENT = "agent_session_stopped"
NO_STOP = "missing_agent_session_stopped_event_subscription"


def set_status(call: SlackCall) -> CallResult:
    """agents.sessions.setStatus: create the session of a thread, or change its status."""
    channel, thread = _find_thread(call)
    status = check_status(call.text("status"))
    session = channel.sessions.get(thread)
    if session is None:
        session = channel.sessions[thread] = AgentSession(title=call.text("title"))
        initiator = call.text("initiator_user_id")
        if initiator and initiator not in channel.members:
            del channel.sessions[thread]
            raise SlackApiError("user_not_found")
        session.initiator = initiator
    session.status, session.since = status, call.now
    body: dict[str, Any] = {"status": status, "agent_status": status, "title": session.title}
    if status == PROCESSING and STOPPED_EVENT not in call.world.events:
        body |= {"warning": NO_STOP, "response_metadata": {"warnings": [NO_STOP]}}
    return CallResult(body, channel.id, thread, status)


def rename(call: SlackCall) -> CallResult:
    """agents.sessions.rename: change the title of a session."""
    channel, thread = _find_thread(call)
    session = channel.sessions.get(thread)
    if session is None:
        raise SlackApiError("session_not_found")
    session.title = call.text("title")
    return CallResult({"title": session.title}, channel.id, thread, session.title)


def suggest_prompts(call: SlackCall) -> CallResult:
    """assistant.threads.setSuggestedPrompts: for the messages tab of an agent, or a thread of an older
    assistant. A thread in the call of an agent makes it fail silently.
    """
    if not call.world.view:
        raise SlackApiError("not_agent_app")
    channel, thread = call.world.channel(call.values.get("channel_id")), call.text("thread_ts")
    prompts = call.json("prompts")
    if not isinstance(prompts, list) or len(prompts) > MAX_PROMPTS:
        raise SlackApiError("invalid_arguments")
    if not all(isinstance(one, dict) and one.get("title") and one.get("message") for one in prompts):
        raise SlackApiError("invalid_arguments")
    if thread and call.world.view is AppView.AGENT:
        return CallResult({}, channel.id)
    if thread and thread not in channel.messages:
        raise SlackApiError("invalid_thread_ts")
    channel.prompts[thread] = {"title": call.text("title"), "prompts": prompts}
    return CallResult({}, channel.id)


def check_status(status: str) -> str:
    """Return a valid session status. Raises SlackApiError for an unknown one."""
    if status not in STATUSES:
        problem = "[ERROR] must be a valid enum value [json-pointer:/status]"
        raise SlackApiError("invalid_arguments", response_metadata={"messages": [problem]})
    return status


def begin_stream(call: SlackCall, channel: SlackChannel, thread: str) -> None:
    """Set the session of a thread in which a stream starts to `processing`."""
    if call.world.view:
        session = channel.sessions.setdefault(thread, AgentSession())
        session.status, session.since = PROCESSING, call.now


def end_stream(call: SlackCall, channel: SlackChannel, thread: str, status: str) -> None:
    """Set a session's status when its stream is closed."""
    if call.world.view and thread in channel.sessions:
        channel.sessions[thread].status = status


def is_working(session: AgentSession | None, now: float) -> bool:
    """Return True while Slack shows a session as being worked on, with its stop button."""
    if session is None or session.status != PROCESSING:
        return False
    return now - session.since < PROCESSING_SECONDS


def _find_thread(call: SlackCall) -> tuple[SlackChannel, str]:
    """Return the thread of a session. Raises SlackApiError if the app may not have one."""
    channel = call.world.known(call.values.get("channel_id"))
    if not call.world.view or not channel.bot_in:
        raise SlackApiError("not_authorized")
    if not call.text("thread_ts"):
        raise SlackApiError("thread_ts_required")
    return channel, call.text("thread_ts")


METHODS = {
    "agents.sessions.setStatus": SlackMethod(set_status, 50, FrameKind.TYPING),
    "agents.sessions.rename": SlackMethod(rename, 50),
    "assistant.threads.setSuggestedPrompts": SlackMethod(suggest_prompts, 100),
}
"""Calls a minute: tier 3 for sessions, tier 4 for prompts."""
