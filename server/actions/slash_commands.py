"""Register slash commands of outgoing webhook bots, and call them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.actions import audit
from server.actions.bots import NO_SUCH_BOT
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.messages.decide import OutgoingMessage, decide
from server.domain.actor import Actor
from server.domain.bots import OUTGOING_WEBHOOK, looks_after
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.messages import clean_content
from server.domain.slash_commands import (
    MAX_COMMANDS,
    MAX_DESCRIPTION_LENGTH,
    MAX_HINT_LENGTH,
    checked_command_name,
    checked_line,
    parsed,
)
from server.events.base import EVERYONE, Entry
from server.events.slash_commands import ShownSlashCommand, SlashCommandsChanged
from server.i18n import _
from server.jobs import SlashCommandCall, enqueue
from server.transactions import Tx
from storage import slash_commands
from storage.ids import SlashCommandId, UserId
from storage.slash_commands import SlashCommandRow
from storage.users import UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTexts:
    """Requested texts of a command; None leaves one as it is."""

    name: str | None = None
    description: str | None = None
    parameter_hint: str | None = None


async def add_command(
    tx: Tx, actor: Actor, bot_id: UserId, name: str, texts: CommandTexts
) -> SlashCommandId:
    """Register a command of a bot that the actor may manage. Raises BadRequestError."""
    context = await lock_context(tx, actor, [bot_id], names_change=True)
    bot = _managed(context, actor, bot_id)
    if bot.bot_type != OUTGOING_WEBHOOK:
        raise InvalidParameterError("bot_id", _("Only outgoing webhooks have commands."))
    if not bot.is_active:
        raise InvalidParameterError("bot_id", _("This bot is deactivated."))
    new = SlashCommandRow(
        command_id=SlashCommandId(0),
        name=checked_command_name(name),
        description=_description(texts.description or ""),
        parameter_hint=_hint(texts.parameter_hint or ""),
        bot_id=bot_id,
    )
    connection = await tx.connection()
    if len(await slash_commands.of_realm(connection, tx.realm_id)) >= MAX_COMMANDS:
        raise BadRequestError(_("Too many commands (limit: {limit})", limit=MAX_COMMANDS))
    await _check_unique(tx, new)
    command_id = await slash_commands.insert(
        await tx.changing(),
        tx.realm_id,
        name=new.name,
        description=new.description,
        parameter_hint=new.parameter_hint,
        bot_id=bot_id,
    )
    _record(tx, await _append(tx), actor, "bot_command_added", bot_id, {}, _facts(new))
    return command_id


async def change_command(
    tx: Tx, actor: Actor, command_id: SlashCommandId, texts: CommandTexts
) -> None:
    """Change the texts of a command. Raises BadRequestError."""
    old = await _locked(tx, actor, command_id)
    new = replace(
        old,
        name=old.name if texts.name is None else checked_command_name(texts.name),
        description=(
            old.description if texts.description is None else _description(texts.description)
        ),
        parameter_hint=(
            old.parameter_hint if texts.parameter_hint is None else _hint(texts.parameter_hint)
        ),
    )
    if new == old:
        return
    await _check_unique(tx, new)
    await slash_commands.update(await tx.changing(), tx.realm_id, new)
    entry = await _append(tx)
    _record(tx, entry, actor, "bot_command_changed", old.bot_id, _facts(old), _facts(new))


async def remove_command(tx: Tx, actor: Actor, command_id: SlashCommandId) -> None:
    """Delete a command. Raises BadRequestError."""
    old = await _locked(tx, actor, command_id)
    await slash_commands.delete(await tx.changing(), tx.realm_id, command_id)
    _record(tx, await _append(tx), actor, "bot_command_removed", old.bot_id, _facts(old), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDestination:
    """The conversation in which a command is called."""

    is_channel: bool
    to: str | int | Sequence[int] | Sequence[str]
    topic: str | None


async def call_command(tx: Tx, actor: Actor, text: str, destination: CallDestination) -> str:
    """Call the command with which the text begins; return the id of the call.

    The actor must be allowed to send a message in the conversation. Raises a DomainError.
    """
    tx.must_be_exact()
    if actor.is_bot:
        # Two bots that call each other would never end.
        raise BadRequestError(_("Bots cannot call commands."))
    name, arguments = parsed(clean_content(text))
    realm_cache = await tx.realm_cache()
    draft = OutgoingMessage(
        type="channel" if destination.is_channel else "direct",
        to=destination.to,
        topic=destination.topic if destination.is_channel else None,
        # Not the arguments: a command mentions no user.
        content="/",
    )
    place = (await decide(realm_cache, actor, draft, tx.reading)).place
    command = await slash_commands.named(await tx.connection(), tx.realm_id, name)
    if command is None:
        raise InvalidParameterError("command", _("There is no command /{name}.", name=name))
    bot = await realm_cache.user(command.bot_id)
    if bot is None or not bot.is_active:
        raise BadRequestError(_("The bot of /{name} is deactivated.", name=command.name))
    call_id = secrets.token_hex(16)
    job = SlashCommandCall(
        realm_id=tx.realm_id,
        call_id=call_id,
        caller_id=actor.user_id,
        bot_id=bot.user_id,
        command=command.name,
        text=arguments,
        channel_id=None if place.channel is None else place.channel.channel_id,
        topic=place.topic_name,
        user_ids=tuple(person.user_id for person in place.people),
    )
    enqueue(tx, job)
    return call_id


# -- checks


def _managed(context: LockedRealm, actor: Actor, bot_id: UserId) -> UserRow:
    row = context.people.get(bot_id)
    is_bot = row is not None and row.bot_type is not None and not row.is_system_bot
    if row is None or not is_bot or not looks_after(context.standing(actor.user_id).person, row):
        raise InvalidParameterError("bot_id", NO_SUCH_BOT)
    return row


async def _locked(tx: Tx, actor: Actor, command_id: SlashCommandId) -> SlashCommandRow:
    """Lock the realm; return the command if the actor may manage its bot."""
    missing = InvalidParameterError("command_id", _("No such command"))
    seen = await slash_commands.by_id(await tx.connection(), tx.realm_id, command_id)
    if seen is None:
        raise missing
    context = await lock_context(tx, actor, [seen.bot_id], names_change=True)
    row = context.people.get(seen.bot_id)
    if row is None or not looks_after(context.standing(actor.user_id).person, row):
        raise missing
    command = await slash_commands.by_id(await tx.connection(), tx.realm_id, command_id)
    if command is None:
        raise missing
    return command


async def _check_unique(tx: Tx, new: SlashCommandRow) -> None:
    same = await slash_commands.named(await tx.connection(), tx.realm_id, new.name)
    if same is not None and same.command_id != new.command_id:
        raise InvalidParameterError(
            "name", _("There is a command /{name} already.", name=same.name)
        )


def _description(text: str) -> str:
    return checked_line(text, parameter="description", longest=MAX_DESCRIPTION_LENGTH)


def _hint(text: str) -> str:
    return checked_line(text, parameter="parameter_hint", longest=MAX_HINT_LENGTH)


# -- events


def _facts(row: SlashCommandRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "description": row.description,
        "parameter_hint": row.parameter_hint,
    }


async def _append(tx: Tx) -> Entry:
    rows = await slash_commands.of_realm(await tx.connection(), tx.realm_id)
    shown = [ShownSlashCommand.of(row) for row in rows]
    return tx.append(SlashCommandsChanged(realm_slash_commands=shown), EVERYONE)


def _record(
    tx: Tx,
    entry: Entry,
    actor: Actor,
    action: str,
    bot_id: UserId,
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    audit.record(tx, entry, actor.user_id, action, before=before, after=after, subject_id=bot_id)
