"""The live check of a change before it is saved, with the account's platform or the model's provider."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict

from bot.access import Permission
from bot.app.accounts import load_manifest, load_setup
from bot.cli.connect_probe import probe as probe_account
from bot.cli.model_setup import check_model
from bot.config import AccountConfig, ModelEntry
from bot.config.changes import ConnectAccount, ConnectModel, ReplaceCredentials
from bot.config.models import masked
from bot.errors import AccountError, RoebotError
from bot.features.settings.permissions import find_refusal
from bot.features.settings.presenting import translate_problems
from bot.features.settings.routes import try_changes
from bot.features.settings.schemas import Problem
from bot.platforms.setup import InvitesBot
from bot.server.api.auth import By, requires
from bot.server.api.dependencies import Services
from bot.server.api.display_names import texts_of
from bot.server.api.schemas import ApiModel

router = APIRouter(prefix="/api/settings", tags=["settings"])
PROBE_SECONDS = 20.0
CALLED = "The platform calls this account, so that it can only be tested once it is connected."
UNNAMED = "-"
"""Name of a model that is not chosen yet."""
NO_LIST, KEY = "models", "api_key"
"""Places of two problems: the provider gives no list, which does not prevent its use, or refuses the key."""


class CheckRequest(BaseModel):
    """A change that connects a model or an account, or replaces its credentials.

    A model may have no name yet, to get the provider's list. `probe`: send the model a test prompt instead,
    which costs a few tokens.
    """

    model_config = ConfigDict(extra="forbid")
    change: ConnectModel | ConnectAccount | ReplaceCredentials
    probe: bool = False


class LiveCheck(ApiModel):
    """Whether the platform or provider accepted the change (null: it was not asked, because of the problems
    or because it can't be). What is accepted may have problems, too, such as missing scopes. `identity` is
    the bot's name there, `invite_link` adds it to a place ("": none), `models` are those of the provider
    (null: no list).
    """

    ok: bool | None
    problems: list[Problem]
    identity: str = ""
    invite_link: str = ""
    models: list[str] | None = None


@router.post("/check")
@requires(Permission.CONFIGURE)
async def check_change(body: CheckRequest, services: Services, by: By) -> LiveCheck:
    """Try out a change without saving it (403: the caller may not make it). It ends after at most 60 s."""
    change = body.change
    if refusal := find_refusal(services, by, [change]):
        raise HTTPException(403, refusal)
    probe = body.probe and not (isinstance(change, ConnectModel) and not change.model)
    if isinstance(change, ConnectModel) and not change.model:
        change = change.model_copy(update={"model": UNNAMED})
    file = await asyncio.to_thread(services.watcher.open_file)
    locale = texts_of(services, by).locale
    draft, problems, loaded = await asyncio.to_thread(try_changes, file, [change])
    if loaded is None:
        return LiveCheck(ok=None, problems=translate_problems(services, locale, [change], problems))
    if isinstance(change, ConnectModel) or (isinstance(change, ReplaceCredentials) and change.model):
        name = change.name if isinstance(change, ConnectModel) else change.model
        entry = next(one for one in loaded.config.models if one.name == name)
        found = await _check_model(entry, locale, probe=probe)
    else:
        name = change.name if isinstance(change, ConnectAccount) else change.account
        found = await _check_account(loaded.config.channels[name])
    secrets = frozenset(draft.secrets.values())
    shown = [one.model_copy(update={"text": masked(one.text, secrets)}) for one in found.problems]
    return found.model_copy(update={"problems": translate_problems(services, locale, [change], shown)})


async def _check_model(entry: ModelEntry, locale: str, *, probe: bool) -> LiveCheck:
    given = {"name": entry.name, "use": entry.use, "model": entry.model, **entry.extra_arguments()}
    found = await asyncio.to_thread(check_model, given, probe=probe, locale=locale)
    places = (KEY, KEY) if found.refused else (NO_LIST, "model")
    problems = zip(places, (found.problem, found.detail), strict=True)
    return LiveCheck(
        ok=found.answers if probe else found.models is not None,
        problems=[Problem(key=key, line=0, text=text) for key, text in problems if text],
        models=list(found.models) if found.models is not None else None,
    )


async def _check_account(account: AccountConfig) -> LiveCheck:
    place = f"channels.{account.name}"
    if account.is_called:
        return LiveCheck(ok=None, problems=[Problem(key=place, line=0, text=CALLED)])
    try:
        state = await probe_account(account, seconds=PROBE_SECONDS)
    except RoebotError as error:
        return LiveCheck(ok=False, problems=[Problem(key=place, line=0, text=str(error))])
    helper, link = load_setup(load_manifest(account.platform)), ""
    if isinstance(helper, InvitesBot):
        try:
            link = await helper.invite_link(account)
        except AccountError:
            link = await helper.invite_link(None)
    lacks = [Problem(key=place, line=0, text=state.reason)] if state.reason else []
    return LiveCheck(ok=True, problems=lacks, identity=state.identity or account.name, invite_link=link)
