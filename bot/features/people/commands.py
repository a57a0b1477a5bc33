"""`/allow`, `/revoke`, `/role` and `/pair`: manage access in the chat."""

from __future__ import annotations

from collections.abc import Sequence

from bot.access import Permission, Role, Target
from bot.access.one_time_codes import is_code, normalize_code
from bot.commands.escaping import quoted, quoted_person
from bot.commands.registry import Command, Invocation, Result
from bot.commands.targets import HERE, account_of, home_of, own_accounts, reaches, twin, whom
from bot.config import AccessEntry
from bot.domain import LOCAL_PLATFORMS, ChatKind
from bot.store.audit import AuditEvent, author_of, count_audit_events, record_event
from bot.store.people import (
    PairingRequest,
    RoleGrant,
    approve_pairing_by_command,
    grant_role,
    list_pairing_requests,
    list_role_grants,
    revoke_role,
)

GRANTABLE_ROLES = {role.name.lower(): role for role in (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.BLOCKED)}
MOST_WRONG, WRONG_WITHIN = 5, 3600.0
"""Number of wrong codes within a period (s) after which further codes are refused."""
WRONG_CODE = "wrong code"
MOST_SHOWN = 50


async def allow(call: Invocation) -> Result:
    """Make a person, or everyone in this group, a member."""
    if not call.words:
        return Result(await _list_roles(call))
    return await _grant(call, call.words[0], Role.MEMBER)


async def role(call: Invocation) -> Result:
    """Grant a role, or show who has a role."""
    if not call.words:
        return Result(await _list_roles(call))
    if len(call.words) == 1:
        return _show_role(call, call.words[0])
    wanted = GRANTABLE_ROLES.get(call.words[1].lower())
    if wanted is None:
        return _unknown_role(call, call.words[1])
    return await _grant(call, call.words[0], wanted)


async def revoke(call: Invocation) -> Result:
    """Revoke a granted role."""
    texts, core = call.texts, call.core
    entry = whom(call, call.words[0] if call.words else "")
    if isinstance(entry, Result):
        return entry
    highest, configured, other = _highest_role(call, entry), _configured_role(call, entry), twin(call, entry)
    if not call.may(Permission.GRANT, own_accounts(call, highest)):
        return Result(texts("role_too_high", who=entry, role=call.role_label(highest)))
    if not reaches(call, entry):
        return Result(texts("role_beyond", who=entry, account=account_of(call)))
    revoked = await core.db.transact(revoke_role, str(entry), author_of(call.turn), core.clock.now())
    await core.people.load_grants()
    if configured is not Role.STRANGER:
        return Result(texts("revoke_configured", who=entry, role=call.role_label(configured)))
    if other in core.people:
        key, who = ("revoke_elsewhere", entry) if revoked else ("role_elsewhere", other)
        return Result(texts(key, who=who, other=other, role=call.role_label(core.people[other])))
    return Result(texts("revoke_done" if revoked else "revoke_nothing", who=entry))


async def pair(call: Invocation) -> Result:
    """Approve the access request with this code, or list the pending ones."""
    texts, services, now = call.texts, call.services, call.core.clock.now()
    if not call.words:
        return Result(_list_requests(call, await _requests_here(call, now)))
    author = author_of(call.turn)
    if (
        await call.core.db.transact(count_audit_events, author.person, WRONG_CODE, now - WRONG_WITHIN)
        >= MOST_WRONG
    ):
        return Result(texts("pair_locked", count=MOST_WRONG, minutes=WRONG_WITHIN // 60))
    code, role = _parse_code_and_role(call)
    if isinstance(role, Result):
        return role
    found = await _requests_here(call, now, code)
    if not found:
        await call.core.db.transact(record_event, author, AuditEvent(WRONG_CODE), now)
        return Result(texts("pair_wrong"))
    who = found[0]
    text = texts("pair_done", who=quoted_person(who.person, who.name), role=call.role_label(role))
    theirs = call.core.account(who.account).texts_in("", ChatKind.PRIVATE, "", who.person)
    notice = await call.core.db.transact(
        approve_pairing_by_command, code, role.name.lower(), theirs, call.turn, text, now
    )
    if notice is None:
        return Result(texts("pair_wrong"))
    await call.core.people.load_grants()
    services.runs.deliver_notice(notice)
    return Result(text, composed=True)


def _parse_code_and_role(call: Invocation) -> tuple[str, Role | Result]:
    """Return the code and the role that follows it; the default role is member."""
    *words, last = call.words
    before, whole = normalize_code(" ".join(words)), normalize_code(" ".join(call.words))
    role = GRANTABLE_ROLES.get(last.lower()) if words else None
    if role is None and is_code(before) and not is_code(whole):
        return before, _unknown_role(call, last)
    wanted = role or Role.MEMBER
    if not call.may(Permission.GRANT, own_accounts(call, wanted)):
        return before, Result(call.texts("role_not_yours", role=call.role_label(wanted)))
    return (whole if role is None else before), wanted


def _unknown_role(call: Invocation, word: str) -> Result:
    roles = call.texts("list_separator").join(map(quoted, GRANTABLE_ROLES))
    return Result(call.texts("role_unknown", role=quoted(word), roles=roles))


async def _grant(call: Invocation, who: str, wanted: Role) -> Result:
    core = call.core
    entry = whom(call, who)
    if isinstance(entry, Result):
        return entry
    refusal = _refusal(call, entry, wanted, whole=bool(entry.kind) or who == HERE)
    if refusal:
        return Result(refusal)
    now = core.clock.now()
    author = author_of(call.turn)
    await core.db.transact(
        grant_role, RoleGrant(str(entry), wanted.name.lower(), "", author.person, now), author, now
    )
    await core.people.load_grants()
    return Result(call.texts("role_given", who=entry, role=call.role_label(wanted)))


def _refusal(call: Invocation, entry: AccessEntry, wanted: Role, *, whole: bool) -> str:
    """Return why the role can't be granted to a person or a `whole` group; "" if it can."""
    texts = call.texts
    if whole and wanted > Role.MEMBER:
        return texts("role_for_people", role=call.role_label(wanted))
    highest, configured = _highest_role(call, entry), _configured_role(call, entry)
    if not call.may(Permission.GRANT, own_accounts(call, max(wanted, highest))):
        key = "role_not_yours" if wanted >= Role.ADMIN else "role_too_high"
        return texts(key, who=entry, role=call.role_label(max(wanted, highest)))
    if not reaches(call, entry):
        return texts("role_beyond", who=entry, account=account_of(call))
    if configured.outranks_grant(wanted):
        return texts("role_configured", who=entry, role=call.role_label(configured))
    same = twin(call, entry)
    other = call.core.people.get(same, Role.STRANGER)
    if wanted is not Role.BLOCKED and (other is Role.BLOCKED or other > wanted):
        return texts("role_elsewhere", who=same, role=call.role_label(other))
    return ""


async def _requests_here(call: Invocation, now: float, code: str = "") -> list[PairingRequest]:
    """Return this account's pending requests; for an owner in the console, those of all accounts."""
    found = await call.core.db.transact(list_pairing_requests, now, code)
    sees_all = home_of(call) in LOCAL_PLATFORMS
    here = [one for one in found if sees_all or one.account == account_of(call)]
    return [one for one in here if call.may(Permission.GRANT, Target(one.account))]


def _configured_role(call: Invocation, entry: AccessEntry) -> Role:
    """Return the entry's configured role on the caller's account."""
    home = call.turn.messages[-1].sender.account or call.turn.address.account
    return call.core.policy(home).configured_role_of_entry(entry)


def _highest_role(call: Invocation, entry: AccessEntry) -> Role:
    return max(_configured_role(call, entry), call.core.people.highest_granted_role(entry))


def _show_role(call: Invocation, who: str) -> Result:
    entry = whom(call, who)
    if isinstance(entry, Result):
        return entry
    highest, people = _highest_role(call, entry), call.core.people
    blocked = Role.BLOCKED in (
        _configured_role(call, entry),
        people.get(entry),
        people.get(twin(call, entry)),
    )
    return Result(
        call.texts("role_shown", who=entry, role=call.role_label(Role.BLOCKED if blocked else highest))
    )


async def _list_roles(call: Invocation) -> str:
    """List the granted roles, without those in the configuration file."""
    texts, grants = call.texts, await call.core.db.transact(list_role_grants)
    grants = [one for one in grants if _is_visible(call, one.entry)]
    if not grants:
        return texts("people_none")
    lines = [texts("people_title"), ""]
    for one in grants[:MOST_SHOWN]:
        who, label = quoted_person(one.entry, one.name), texts.label("role_name", one.role)
        lines.append(f"- {texts('people_line', who=who, role=label, by=quoted(one.by))}")
    if len(grants) > MOST_SHOWN:
        lines.append(texts("people_more", count=len(grants) - MOST_SHOWN))
    return "\n".join(lines)


def _is_visible(call: Invocation, entry: str) -> bool:
    """Return whether a grant covers an account that the caller administers."""
    accounts = call.core.permissions.accounts_with(call.caller, Permission.GRANT)
    scope = entry.partition(":")[0]
    return accounts is None or any(scope in (one, call.core.account(one).platform) for one in accounts)


def _list_requests(call: Invocation, requests: Sequence[PairingRequest]) -> str:
    if not requests:
        return call.texts("pair_nobody")
    now = call.core.clock.now()
    lines = [call.texts("pair_title"), ""]
    for one in requests:
        who, minutes = quoted_person(one.person, one.name), (one.expires_at - now) / 60
        lines.append(f"- {call.texts('pair_line', who=who, account=one.account, minutes=minutes)}")
    return "\n".join(lines)


COMMANDS = (
    Command("allow", allow, argument="[WHO]", most_words=1, permission=Permission.GRANT, takes_person=True),
    Command("revoke", revoke, argument="WHO", most_words=1, permission=Permission.GRANT, takes_person=True),
    Command(
        "role",
        role,
        argument="[WHO] [ROLE]",
        most_words=2,
        permission=Permission.GRANT,
        private=True,
        takes_person=True,
    ),
    Command("pair", pair, argument="[CODE] [ROLE]", most_words=3, permission=Permission.GRANT, private=True),
)
