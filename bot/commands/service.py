"""`/accounts`, `/restart`, `/reload` and `/announce`: service administration."""

from __future__ import annotations

from bot.access import Permission, Role, Target
from bot.account_state import Live
from bot.commands.escaping import quoted
from bot.commands.registry import COLONS, Invocation, Result, nearest, nearest_line, text_after
from bot.config import Reloaded
from bot.domain import LOCAL_PLATFORMS, Origin
from bot.errors import RuntimeProblem
from bot.store.conversations import Audience, announce_by_command, list_audiences

RECENT = 30 * 24 * 3600.0
"""An announcement goes to chats with an answer within this period (s)."""
MOST_CHATS = 500
LONGEST_ANNOUNCEMENT = 2000
MOST_PROBLEMS = 10


async def accounts(call: Invocation) -> Result:
    """Show the current state of every account."""
    texts = call.texts
    now = call.core.clock.now()
    lines = []
    for name, (platform, state) in sorted(call.core.accounts.states().items()):
        if not call.may(Permission.ACCOUNTS, Target(name)):
            continue
        last = texts("accounts_last", seconds=now - state.last_event) if state.last_event else ""
        lines.append(
            "- "
            + texts(
                "accounts_line",
                account=name,
                platform=platform,
                state=texts.label("live", state.live.value),
                identity=texts("accounts_as", identity=state.identity) if state.identity else "",
                reason=f" ({state.reason})" if state.reason and state.live is not Live.LIVE else "",
                last=last,
            )
        )
    return Result("\n".join([texts("accounts_title"), "", *lines]))


async def restart(call: Invocation) -> Result:
    """Restart an account; accepted messages continue once it is connected again."""
    states = call.core.accounts.states()
    known = sorted(one for one in states if call.may(Permission.ACCOUNTS, Target(one)))
    name = call.words[0] if call.words else ""
    if not name:
        return Result(
            call.texts("restart_which", accounts=call.texts("list_separator").join(map(quoted, known)))
        )
    if name in states and name not in known:
        return Result(call.texts("account_beyond", account=name))
    if not call.core.accounts.restart(name):
        near = nearest_line(call.texts, nearest(name, known), mark="")
        return Result(call.texts("restart_unknown", account=quoted(name), nearest=near))
    return Result(call.texts("restart_done", account=name))


async def reload(call: Invocation) -> Result:
    """Reload the configuration, and report the changes or the errors."""
    texts = call.texts
    outcome = await call.services.reload()
    if not isinstance(outcome, Reloaded):
        lines = str(outcome.errors).splitlines()
        shown = [f"- {quoted(line, 300)}" for line in lines[:MOST_PROBLEMS]]
        return Result("\n".join([texts("reload_rejected"), "", *shown]))
    sections = texts("list_separator").join(map(quoted, sorted(outcome.sections)))
    done = texts("reload_done", sections=sections) if sections else texts("reload_same")
    return Result("\n\n".join(filter(None, [done, await _describe_agent_problems(call)])))


async def _describe_agent_problems(call: Invocation) -> str:
    """Return what the agent runtime can't use of the configuration, "" if there is nothing."""
    try:
        found = (await call.core.runtime.management.list_config_problems()).problems
    except RuntimeProblem:
        return ""
    lines = [f"- {quoted(one.line, 300)}" for one in found if one.serious][:MOST_PROBLEMS]
    return "\n".join([call.texts("reload_problems"), "", *lines]) if lines else ""


def is_announcement(rest: str) -> bool:
    """Return whether the text after the command name is an announcement: `announce: TEXT`."""
    return not rest or rest.startswith(COLONS)


async def announce(call: Invocation) -> Result:
    """Post a message in every chat with a recent answer."""
    texts, services, now = call.texts, call.services, call.core.clock.now()
    text = text_after(call.turn.messages[-1].text)
    if not text:
        return Result(texts("announce_what"))
    if len(text) > LONGEST_ANNOUNCEMENT:
        return Result(texts("announce_too_long", limit=LONGEST_ANNOUNCEMENT))
    chosen = [
        one for one in await call.core.db.transact(list_audiences, now - RECENT) if _is_reachable(call, one)
    ]
    if not chosen:
        return Result(texts("announce_nobody"))
    answer = texts("announce_done", count=len(chosen[:MOST_CHATS]))
    opened = await call.core.db.transact(
        announce_by_command, chosen[:MOST_CHATS], texts("announcement", text=text), call.turn, answer, now
    )
    for turn in opened:
        services.runs.deliver_notice(turn)
    return Result(answer, composed=True)


def _is_reachable(call: Invocation, one: Audience) -> bool:
    """Return whether a chat is another chat of a running account whose last sender still has access."""
    here, there = call.turn.address, one.address
    if (here.account, here.chat) == (there.account, there.chat) or one.platform in LOCAL_PLATFORMS:
        return False
    if call.core.accounts.get(there.account) is None:
        return False
    if not call.may(Permission.ANNOUNCE, Target(there.account)):
        return False
    origin = Origin(there.account, one.platform, there.chat, there.chat_kind, "", one.sender)
    return call.core.policy(there.account).role_of(origin) >= Role.MEMBER
