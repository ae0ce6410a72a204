"""Endpoint that matches messages against a narrow."""

from msgspec import Struct

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.domain.narrow import GivenNarrow, parse_narrow
from server.history import fetch
from storage.ids import MessageId


class MatchParams(Params):
    msg_ids: list[int]
    """Ids of the messages."""
    narrow: GivenNarrow
    """Terms, as in `GET /messages`."""


class Match(Struct, frozen=True):
    match_content: str
    match_subject: str


class MatchResult(Result):
    messages: dict[str, Match]


async def matches_narrow(request: Request, params: MatchParams) -> MatchResult:
    terms = parse_narrow(params.narrow)
    ids = [MessageId(each) for each in params.msg_ids]
    async with request.read() as connection:
        found = await fetch.matching(request.realm_cache, connection, request.actor, ids, terms)
    return MatchResult(
        messages={number: Match(match.content, match.subject) for number, match in found.items()}
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/messages/matches_narrow",
        Access.USER,
        MatchParams,
        matches_narrow,
        MatchResult,
        summary="Check which messages match a narrow",
        description=(
            "Returns, by id, those that match, with what was found marked in content and topic."
        ),
    ),
)
