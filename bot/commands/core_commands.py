"""Core commands (`/help`, `/new`, `/stop`, `/plan`, `/whoami`, `/page`, `/status`) and the full registry."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from bot.access import AccessPolicy, Permission, Role
from bot.access.one_time_codes import CODE_LASTS, create_secret, hash_secret
from bot.commands.ask import ASK, ask
from bot.commands.conversation import agent_of, busy, busy_line, model_of, resume, threads, title
from bot.commands.language import is_language, language
from bot.commands.registry import (
    SWITCH,
    Button,
    Command,
    Invocation,
    Registry,
    Result,
    run_unknown,
    suggest_names,
)
from bot.commands.retry import retry
from bot.commands.service import accounts, announce, is_announcement, reload, restart
from bot.commands.token_usage import usage_fields
from bot.domain import LOCAL_PLATFORMS, ChatKind, Origin, person_of
from bot.errors import RuntimeProblem
from bot.store.audit import author_of
from bot.store.conversations import load_conversation, load_lane, set_plan_mode
from bot.store.web_sessions import SecretHash, create_sign_in_code
from bot.turn import Busy

# A status must be quick, even if the runtime is busy.
USAGE_SECONDS = 2.0


LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


async def help_(call: Invocation) -> Result:
    """List the commands, or explain one."""
    texts, registry = call.texts, call.registry
    if call.words:
        name = call.words[0].lstrip("/").lower()
        command = registry.get(name)
        if command is None:
            return suggest_names(call, name)
        line = texts("help_line", usage=command.usage, summary=texts(f"cmd_{name}"))
        return Result(f"{line}\n\n{texts(f'more_{name}')}")
    lines = [
        f"- {texts('help_line', usage=command.usage, summary=texts(f'cmd_{command.name}'))}"
        + (f" {texts('help_admin')}" if command.role >= Role.ADMIN else "")
        for command in registry.for_role(call.role)
        if call.may_use(command)
    ]
    return Result("\n".join([texts("help_title"), "", *lines, "", texts("help_more")]))


async def new(call: Invocation) -> Result:
    """Confirm the new thread, which the accept transaction has already started."""
    lane = await call.core.db.transact(load_lane, call.turn.conversation, before=call.turn.id)
    busy = lane.turn is not None or lane.queued > 0
    # Approvals that were pending on the old thread no longer apply.
    call.services.runs.wake_conversation(call.turn.conversation)
    return Result(call.texts("new_while_busy" if busy else "new"))


async def stop(call: Invocation) -> Result:
    """Stop the run and keep the queue."""
    stopped = await call.services.runs.stop(call.turn.conversation, author_of(call.turn), call.turn.id)
    if not stopped:
        return Result(call.texts("stop_nothing"))
    joined = call.services.runs.joined_count(call.turn.conversation)
    lane = await call.core.db.transact(load_lane, call.turn.conversation)
    waiting = lane.queued - joined
    return Result(call.texts("stop_queue", count=waiting) if waiting > 0 else call.texts("stop_done"))


async def plan(call: Invocation) -> Result:
    """Turn plan mode of this conversation on or off, or show it."""
    texts, core = call.texts, call.core
    wanted = SWITCH.get(call.words[0].lower()) if call.words else None
    if wanted is None:
        view = await core.db.transact(load_conversation, call.turn.conversation)
        is_on = bool(view and view.plan)
        button = Button(*((texts("button_off"), "plan off") if is_on else (texts("button_on"), "plan on")))
        return Result(texts("plan_is_on" if is_on else "plan_is_off"), buttons=(button,))
    await core.db.transact(set_plan_mode, call.turn.conversation, wanted)
    lane = await core.db.transact(load_lane, call.turn.conversation)
    if lane.turn:
        return Result(texts("plan_on_busy" if wanted else "plan_off_busy"))
    return Result(texts("plan_on" if wanted else "plan_off"))


async def whoami(call: Invocation) -> Result:
    """Describe the caller: identity, role and account."""
    sender = call.turn.messages[0].sender
    address = call.turn.address
    origin = Origin(
        address.account, call.turn.platform, address.chat, address.chat_kind, "", sender, address.topic
    )
    known = call.role >= Role.MEMBER
    line = call.texts("whoami_line", line=AccessPolicy.config_lines(origin))
    return Result(
        call.texts(
            "whoami",
            entry=person_of(call.turn.platform, sender),
            name=f" ({sender.name})" if sender.name else "",
            role=call.role_label(call.role),
            line=call.texts("whoami_known") if known else line,
        )
    )


async def status(call: Invocation) -> Result:
    """Show this conversation, its run, its queue and its account."""
    texts, services = call.texts, call.services
    joined = services.runs.joined_count(call.turn.conversation)
    lane = await call.core.db.transact(load_lane, call.turn.conversation)
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    policy = (view.busy if view else "") or call.profile.get("busy") or Busy.QUEUE
    account = call.core.accounts.state(call.turn.address.account)
    since = call.core.clock.now() - lane.since
    state = texts(f"turn_{lane.state.value}") if lane.state else ""
    lines = [
        texts("status_title"),
        texts("status_busy", state=state, seconds=since) if lane.turn else texts("status_idle"),
        *([texts("status_approval", number=lane.asked_by)] if lane.asked_by else []),
        *([texts("status_joined", count=joined)] if joined else []),
        texts("status_queue", count=max(0, lane.queued - joined)),
        texts("status_model", name=model_of(call, view)),
        texts("status_agent", name=agent_of(call, view)),
        *([texts("plan_is_on")] if view and view.plan else []),
        *([busy_line(call, view)] if policy != Busy.QUEUE or (view and view.busy) else []),
        *await _tokens(call, view.thread_id if view else ""),
        texts("status_chat", chat=call.turn.address.chat),
        *([texts("status_topic", topic=call.turn.address.topic)] if call.turn.address.topic else []),
        texts("status_thread", thread=view.thread_id if view else ""),
        texts(
            "status_account",
            account=call.turn.address.account,
            state=texts.label("live", account.live.value),
            reason=f": {account.reason}" if account.reason else "",
        ),
    ]
    return Result("\n\n".join(lines))


async def _tokens(call: Invocation, thread_id: str) -> list[str]:
    """Return the thread's token usage, if the runtime reports it."""
    try:
        async with asyncio.timeout(USAGE_SECONDS):
            used = await call.core.runtime.read_usage(thread_id) if thread_id else None
    except (RuntimeProblem, TimeoutError):
        return []
    if used is None:
        return []
    return [call.texts("status_tokens", **usage_fields(call.texts, used))]


_ADMIN_COMMANDS = (
    Command("accounts", accounts, permission=Permission.ACCOUNTS, private=True),
    Command("restart", restart, argument="ACCOUNT", most_words=1, permission=Permission.ACCOUNTS),
    Command("reload", reload, permission=Permission.CONFIGURE),
    Command(
        "announce",
        announce,
        argument="TEXT",
        permission=Permission.ANNOUNCE,
        matches_word=is_announcement,
    ),
)


def build_registry(added: Sequence[Command] = ()) -> Registry:
    """Build the registry of all commands, including those of features."""
    return Registry(
        [
            Command("help", help_, argument="[COMMAND]", most_words=1),
            Command(ASK, ask, argument="TEXT", with_slash=True),
            Command("new", new, starts_thread=True, audited="name"),
            Command("status", status),
            Command("stop", stop, audited="name"),
            Command("retry", retry),
            Command("threads", threads),
            Command(
                "resume", resume, argument="[NUMBER]", most_words=1, resumes_thread=True, audited="words"
            ),
            Command("title", title, argument="[TEXT]", most_words=12, audited="name"),
            Command("plan", plan, argument="[on/off]", most_words=1, audited="words"),
            Command(
                "busy", busy, argument="[queue/interrupt/steer/reject/default]", most_words=1, audited="words"
            ),
            Command(
                "language",
                language,
                argument="[here] [en/zh/default]",
                matches_word=is_language,
                audited="words",
            ),
            Command("whoami", whoami, private=True),
            Command("page", page, with_slash=True, private=True),
            *(command for command in added if command.role < Role.ADMIN),
            *_ADMIN_COMMANDS,
            *(command for command in added if command.role >= Role.ADMIN),
        ],
        fallback=run_unknown,
    )


async def page(call: Invocation) -> Result:
    """Send a single-use sign-in link in private; a new link invalidates the previous one."""
    texts, core, turn = call.texts, call.core, call.turn
    address = core.console_url
    if turn.platform in LOCAL_PLATFORMS:
        return Result(texts("page_here", address=address) if address else texts("page_unset"))
    if turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(texts("page_private"))
    if not address:
        return Result(texts("page_unset"))
    code, now = create_secret(), core.clock.now()
    await core.db.transact(create_sign_in_code, SecretHash(hash_secret(code), now + CODE_LASTS), turn, now)
    kept = texts("page_not_kept")
    lines = [texts("page_link", link=kept, minutes=CODE_LASTS // 60)]
    if urlsplit(address).hostname in LOOPBACK_HOSTS:
        lines.append(texts("page_local"))
    return Result("\n\n".join(lines), sealed=(kept, f"{address}/#code={code}"))
