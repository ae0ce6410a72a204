"""Endpoints of slash commands that bots answer."""

from typing import Final, Literal

from server.actions import slash_commands
from server.actions.command_answers import CommandAnswerer
from server.actions.slash_commands import CallDestination, CommandTexts
from server.api.endpoint import (
    Access,
    Empty,
    Endpoint,
    NoParams,
    RawPayload,
    Request,
    Result,
)
from server.api.later_answers import earliest, no_more, parties_of
from server.api.params import JsonOrBareStr, OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.errors import (
    BadRequestError,
    BodyTooLargeError,
    MissingParameterError,
)
from server.domain.messages import clean_content
from server.domain.outgoing_webhooks import MAX_ANSWERS, AnswerError
from server.domain.slash_commands import ANSWER_PATH, answer_in
from server.events.slash_commands import ShownSlashCommand
from server.i18n import _
from server.jobs import SlashCommandCall
from storage import command_calls
from storage import slash_commands as rows
from storage.command_calls import CommandCallRow
from storage.ids import RealmId, SlashCommandId, UserId

PATH = "/realm/slash_commands"
MAX_ANSWER_BYTES: Final = 64 * 1024


class AddParams(Params):
    name: JsonOrBareStr
    """Name of the command, with or without the slash: 1 to 32 letters, digits, hyphens or
    underscores. Unique in the organization, whatever the case."""
    bot_id: int
    """User id of the outgoing webhook bot that is called."""
    description: str = ""
    """What the command does, in a line of at most 200 characters."""
    parameter_hint: str = ""
    """What to write after the command, such as `[service] [version]`: at most 100 characters."""


class SlashCommandParams(Params):
    command_id: int
    """Id of the command."""


class ChangeParams(SlashCommandParams):
    name: JsonOrBareStr | None = None
    """New name."""
    description: str | None = None
    """New description."""
    parameter_hint: str | None = None
    """New hint about what to write after the command."""


class CallParams(Params):
    command: str
    """The command and what follows it: `/deploy web 7`."""
    type: Literal["direct", "channel", "stream", "private"]
    """`channel` (or `stream`) or `direct` (or `private`)."""
    to: str | int | list[int] | list[str]
    """Conversation in which the command is called, as of a message: the channel by id or name; for
    direct messages a list of user ids or of email addresses."""
    topic: OptionalTopicName = None
    """Topic; only for channels."""


class CommandsResult(Result):
    slash_commands: list[ShownSlashCommand]


class IdResult(Result):
    id: int


class CalledResult(Result):
    call_id: str
    """By which the event `slash_command_answer` names the call."""


async def list_all(request: Request, params: NoParams) -> CommandsResult:
    del params
    async with request.read() as connection:
        found = await rows.of_realm(connection, request.actor.realm_id)
    return CommandsResult(slash_commands=[ShownSlashCommand.of(row) for row in found])


async def add(request: Request, params: AddParams) -> IdResult:
    texts = CommandTexts(description=params.description, parameter_hint=params.parameter_hint)
    added = await request.write(
        slash_commands.add_command, UserId(params.bot_id), params.name, texts
    )
    return IdResult(id=added)


async def change(request: Request, params: ChangeParams) -> Empty:
    texts = CommandTexts(
        name=params.name,
        description=params.description,
        parameter_hint=params.parameter_hint,
    )
    command_id = SlashCommandId(params.command_id)
    await request.write(slash_commands.change_command, command_id, texts)
    return Empty()


async def remove(request: Request, params: SlashCommandParams) -> Empty:
    await request.write(slash_commands.remove_command, SlashCommandId(params.command_id))
    return Empty()


async def call(request: Request, params: CallParams) -> CalledResult:
    is_channel = params.type in ("channel", "stream")
    if is_channel and params.topic is None:
        raise MissingParameterError("topic")
    destination = CallDestination(is_channel=is_channel, to=params.to, topic=params.topic)
    call_id = await request.write(slash_commands.call_command, params.command, destination)
    return CalledResult(call_id=call_id)


class AnswerParams(Params):
    answer_token: str
    """From the address that the request about the call has."""


async def answer(request: Request, params: AnswerParams) -> Empty:
    """Carry out an answer that comes after the response, if the address still takes one."""
    realm_id = request.realm_cache.realm_id
    if len(request.payload) > MAX_ANSWER_BYTES:
        raise BodyTooLargeError(_("The answer is too large."))
    async with request.app.database.connection() as connection:
        row = await command_calls.use_answer(
            connection, realm_id, params.answer_token, called_after=earliest(request)
        )
    if row is None:
        raise no_more()
    parties = await parties_of(request, row.bot_id, row.caller_id)
    try:
        said = answer_in(request.payload)
    except AnswerError as error:
        raise BadRequestError(str(error)) from None
    if said is not None:
        clean_content(said.content)
        answerer = CommandAnswerer(
            services=request.app.realm_services(realm_id),
            call=_call(realm_id, row),
            bot=parties.bot,
            caller=parties.user,
            number=MAX_ANSWERS - row.answers_left,
        )
        await answerer.carry_out(said)
    return Empty()


def _call(realm_id: RealmId, row: CommandCallRow) -> SlashCommandCall:
    return SlashCommandCall(
        realm_id=realm_id,
        call_id=row.call_id,
        caller_id=row.caller_id,
        bot_id=row.bot_id,
        command=row.command,
        text="",
        channel_id=row.channel_id,
        topic=row.topic,
        user_ids=tuple(row.user_ids),
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        NoParams,
        list_all,
        CommandsResult,
        summary="List the slash commands of bots",
    ),
    Endpoint(
        "POST",
        PATH,
        Access.USER,
        AddParams,
        add,
        IdResult,
        summary="Register a slash command",
        description=(
            "For the bot's owner and administrators. Clients offer it to everyone in the"
            " organization."
        ),
    ),
    Endpoint(
        "PATCH",
        f"{PATH}/{{command_id}}",
        Access.USER,
        ChangeParams,
        change,
        summary="Change a slash command",
        description=(
            "For the owner of the command's bot and administrators. What is left out stays."
        ),
    ),
    Endpoint(
        "DELETE",
        f"{PATH}/{{command_id}}",
        Access.USER,
        SlashCommandParams,
        remove,
        summary="Delete a slash command",
        description="For the owner of the command's bot and administrators.",
    ),
    Endpoint(
        "POST",
        f"{PATH}/call",
        Access.USER,
        CallParams,
        call,
        CalledResult,
        scope=Scope.MESSAGES,
        summary="Call a slash command",
        description=(
            "Calls the bot's service, for people who may send messages in the conversation. The"
            " bot posts its answer there, or the event `slash_command_answer` shows it to the"
            " caller alone. No message is sent."
        ),
    ),
    Endpoint(
        "POST",
        ANSWER_PATH,
        Access.ANONYMOUS,
        AnswerParams,
        answer,
        body=RawPayload(),
        summary="Answer a slash command later",
        description=(
            "For a bot's service: the address is in the request about the call, as `response_url`."
            " It takes five answers, of the same form as the response, within half an hour."
        ),
    ),
)
