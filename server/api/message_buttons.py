"""Endpoints of buttons of bots' messages: to set them, to click, and for services to answer."""

from server.actions import message_buttons
from server.actions.button_answers import Click, ClickAnswerer, read_answer
from server.api.button_values import ButtonParam, buttons_in
from server.api.endpoint import Access, Empty, Endpoint, RawPayload, Request, Result
from server.api.later_answers import earliest, no_more, parties_of
from server.api.params import Params
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError, ServerNotReadyError
from server.domain.message_buttons import ANSWER_PATH
from server.domain.outgoing_webhooks import AnswerError
from server.parsing.lane import ParserUnavailableError
from storage import message_buttons as rows
from storage.ids import MessageId

PATH = "/messages/{message_id}/buttons"


class SetParams(Params):
    message_id: int
    """Id of the bot's message."""
    buttons: list[ButtonParam]
    """All buttons that it has from now on, as of `POST /messages`; an empty list removes them."""


class ClickParams(Params):
    message_id: int
    """Id of the message."""
    button_id: str
    """Id of the button, in the message."""
    local_id: str | None = None
    """Id that the client gave the click. A request with the same id is the same click, and a client
    that has lost a response repeats it with that."""


class ClickResult(Result):
    click_id: str
    """By which the event `button_click_answer` names the click."""


class AnswerParams(Params):
    answer_token: str
    """From the address that the request about the click has."""


async def set_all(request: Request, params: SetParams) -> Empty:
    buttons = buttons_in(params.buttons)
    await request.write(message_buttons.set_buttons, MessageId(params.message_id), buttons)
    return Empty()


async def click(request: Request, params: ClickParams) -> ClickResult:
    click_id = await request.write(
        message_buttons.click_button,
        MessageId(params.message_id),
        params.button_id,
        params.local_id,
        request.app.clock.now(),
    )
    return ClickResult(click_id=str(click_id))


async def answer(request: Request, params: AnswerParams) -> Empty:
    """Carry out an answer that comes after the response, if the address still takes one."""
    realm_id = request.realm_cache.realm_id
    async with request.app.database.connection() as connection:
        row = await rows.use_answer(
            connection, realm_id, params.answer_token, clicked_after=earliest(request)
        )
    if row is None:
        raise no_more()
    parties = await parties_of(request, row.bot_id, row.user_id)
    clicked = Click(row=row, bot=parties.bot, owner=parties.owner, user=parties.user)
    try:
        said = await read_answer(
            request.app.parser,
            request.payload,
            clicked,
            interface=parties.service.interface,
            is_response=False,
        )
    except AnswerError as error:
        raise BadRequestError(str(error)) from None
    except ParserUnavailableError:
        raise ServerNotReadyError("The server is not ready. Try again shortly.") from None
    services = request.app.realm_services(realm_id)
    answerer = ClickAnswerer(services, clicked, key=str(row.answers_left))
    await answerer.carry_out(said, ends_click=False)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "PUT",
        PATH,
        Access.USER,
        SetParams,
        set_all,
        scope=Scope.MESSAGES,
        summary="Set the buttons of a bot's message",
        description="For the outgoing webhook that has sent the message, and for its owner.",
    ),
    Endpoint(
        "POST",
        f"{PATH}/click",
        Access.USER,
        ClickParams,
        click,
        ClickResult,
        scope=Scope.MESSAGES,
        summary="Click on a button of a bot's message",
        description=(
            "For people who may read the message and may send messages to its conversation. The"
            " click is delivered to the bot's service, which may replace the message, post another"
            " or answer you alone: the event `button_click_answer`. Another click of yours on the"
            " same button that is not answered yet is the same click."
        ),
    ),
    Endpoint(
        "POST",
        ANSWER_PATH,
        Access.ANONYMOUS,
        AnswerParams,
        answer,
        body=RawPayload(),
        summary="Answer a click on a button later",
        description=(
            "For a bot's service: the address is in the request about the click, as `response_url`."
            " It takes five answers, of the same form as the response, within half an hour."
        ),
    ),
)
