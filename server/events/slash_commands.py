"""Events of slash commands, only for clients with the capability `slash_commands`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import ChannelId, Position, SlashCommandId, UserId
from storage.slash_commands import SlashCommandRow


class ShownSlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    id: SlashCommandId
    name: str
    """Without the slash."""
    description: str
    parameter_hint: str
    bot_id: UserId

    @classmethod
    def of(cls, row: SlashCommandRow) -> "ShownSlashCommand":
        return cls(
            id=row.command_id,
            name=row.name,
            description=row.description,
            parameter_hint=row.parameter_hint,
            bot_id=row.bot_id,
        )


class SlashCommandsChanged(Event, frozen=True, kw_only=True):
    """All slash commands of the realm, by name."""

    kind: ClassVar[str] = "realm_slash_commands"
    wire_type: ClassVar[str] = "realm_slash_commands"
    varies_by: ClassVar[tuple[str, ...]] = ("slash_commands",)

    type: Literal["realm_slash_commands"] = "realm_slash_commands"
    realm_slash_commands: list[ShownSlashCommand]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.slash_commands else ()


class SlashCommandAnswered(Event, frozen=True, kw_only=True):
    """What the caller alone is shown of a command's outcome; it is no message."""

    kind: ClassVar[str] = "slash_command_answer"
    wire_type: ClassVar[str] = "slash_command_answer"
    varies_by: ClassVar[tuple[str, ...]] = ("slash_commands",)

    type: Literal["slash_command_answer"] = "slash_command_answer"
    call_id: str
    """As the call returned it. An answer with the same id replaces the one before."""
    command: str
    """The command's name, without the slash."""
    bot_id: UserId
    is_error: bool
    """Whether the server says that something has failed; otherwise it is the bot's answer."""
    content: str
    """In Markdown."""
    rendered_content: str
    stream_id: ChannelId | None
    """Where the command was called; null for direct messages."""
    topic: str | None
    user_ids: Sequence[UserId] | None
    """All participants of the direct messages; null for channels."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.slash_commands else ()
