"""Endpoints of alert words."""

from server.actions import alert_words
from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.api.params import Params
from storage import alert_words as rows


class WordsParams(Params):
    alert_words: list[str]
    """Words or phrases, matched without regard to case."""


class WordsResult(Result):
    alert_words: list[str]


async def get(request: Request, params: NoParams) -> WordsResult:
    del params
    actor = request.actor
    async with request.read() as connection:
        words = await rows.of_user(connection, actor.realm_id, actor.user_id)
    return WordsResult(alert_words=words)


async def add(request: Request, params: WordsParams) -> WordsResult:
    words = await request.write(alert_words.add_alert_words, params.alert_words)
    return WordsResult(alert_words=words)


async def remove(request: Request, params: WordsParams) -> WordsResult:
    words = await request.write(alert_words.remove_alert_words, params.alert_words)
    return WordsResult(alert_words=words)


_PATH = "/users/me/alert_words"
ENDPOINTS = (
    Endpoint(
        "GET",
        _PATH,
        Access.USER,
        NoParams,
        get,
        WordsResult,
        summary="List your alert words",
        description=(
            "Messages that contain one of them are flagged `has_alert_word` for the user, and"
            " notify as mentions do."
        ),
    ),
    Endpoint(
        "POST",
        _PATH,
        Access.USER,
        WordsParams,
        add,
        WordsResult,
        summary="Add alert words",
        description=(
            "Words that are there already are left alone. The answer lists all alert words."
        ),
    ),
    Endpoint(
        "DELETE",
        _PATH,
        Access.USER,
        WordsParams,
        remove,
        WordsResult,
        summary="Remove alert words",
        description="Words that are not there are passed over. The answer lists those that stay.",
    ),
)
