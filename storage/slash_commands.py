"""Slash commands that outgoing webhook bots answer."""

from dataclasses import dataclass

from storage.database import Connection
from storage.ids import RealmId, SlashCommandId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommandRow:
    command_id: SlashCommandId
    name: str
    """Without the slash."""
    description: str
    parameter_hint: str
    bot_id: UserId


async def of_realm(connection: Connection, realm_id: RealmId) -> list[SlashCommandRow]:
    """Return all commands of the realm, by name."""
    return await connection.many(
        SlashCommandRow,
        """
        SELECT command_id, name, description, parameter_hint, bot_id FROM slash_commands
         WHERE realm_id = %(realm_id)s ORDER BY folded_name
        """,
        realm_id=realm_id,
    )


async def named(connection: Connection, realm_id: RealmId, name: str) -> SlashCommandRow | None:
    """Return the command with this name, in any spelling with the same folding."""
    return await connection.one(
        SlashCommandRow,
        """
        SELECT command_id, name, description, parameter_hint, bot_id FROM slash_commands
         WHERE realm_id = %(realm_id)s AND folded_name = %(folded_name)s
        """,
        realm_id=realm_id,
        folded_name=fold_name(name),
    )


async def by_id(
    connection: Connection, realm_id: RealmId, command_id: SlashCommandId
) -> SlashCommandRow | None:
    return await connection.one(
        SlashCommandRow,
        """
        SELECT command_id, name, description, parameter_hint, bot_id FROM slash_commands
         WHERE realm_id = %(realm_id)s AND command_id = %(command_id)s
        """,
        realm_id=realm_id,
        command_id=command_id,
    )


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    name: str,
    description: str,
    parameter_hint: str,
    bot_id: UserId,
) -> SlashCommandId:
    """Insert a command. The caller has locked the realm's row exclusively."""
    command_id: SlashCommandId = await connection.value(
        """
        INSERT INTO slash_commands
               (realm_id, name, folded_name, description, parameter_hint, bot_id)
        VALUES (%(realm_id)s, %(name)s, %(folded_name)s, %(description)s, %(parameter_hint)s,
                %(bot_id)s)
        RETURNING command_id
        """,
        realm_id=realm_id,
        name=name,
        folded_name=fold_name(name),
        description=description,
        parameter_hint=parameter_hint,
        bot_id=bot_id,
    )
    return command_id


async def update(connection: Connection, realm_id: RealmId, row: SlashCommandRow) -> None:
    """Update the texts of a command. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE slash_commands
           SET name = %(name)s, folded_name = %(folded_name)s, description = %(description)s,
               parameter_hint = %(parameter_hint)s
         WHERE realm_id = %(realm_id)s AND command_id = %(command_id)s
        """,
        realm_id=realm_id,
        command_id=row.command_id,
        name=row.name,
        folded_name=fold_name(row.name),
        description=row.description,
        parameter_hint=row.parameter_hint,
    )


async def delete(connection: Connection, realm_id: RealmId, command_id: SlashCommandId) -> None:
    await connection.execute(
        """
        DELETE FROM slash_commands
         WHERE realm_id = %(realm_id)s AND command_id = %(command_id)s
        """,
        realm_id=realm_id,
        command_id=command_id,
    )
