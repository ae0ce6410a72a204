"""The language in which a request is answered."""

from collections.abc import Mapping
from typing import Any, Final

from server.api.endpoint import Request
from server.domain.actor import Actor
from server.domain.user_settings import UserSettings
from server.i18n import SOURCE, accepted_language, catalogue_language

HEADER: Final = "Accept-Language"


def language_of(user: Actor) -> str:
    """Return the language in which a user reads; bots get English, whose texts they compare."""
    if user.is_bot:
        return SOURCE
    return catalogue_language(UserSettings.of(user.row.settings).default_language)


async def page_language(request: Request) -> str:
    """Return the language that a browser asks for, or the organization's."""
    accepted = accepted_language(request.headers.get(HEADER))
    if accepted is not None:
        return accepted.language
    if request.realm_id is None:
        return SOURCE
    return catalogue_language((await request.realm_cache.settings()).default_language)


async def settings_of_newcomer(request: Request) -> dict[str, Any]:
    """Return the initial settings of an account: the browser's language, if we have it."""
    accepted = accepted_language(request.headers.get(HEADER))
    if accepted is None:
        return {}
    settings = await request.realm_cache.settings()
    return settings.start_of_speaker(accepted.language, accepted.tag)


def error_language(caller: Actor | None, headers: Mapping[str, str]) -> str:
    """Return the language of an error of the API: the caller's, or the one that is asked for."""
    if caller is not None and not caller.is_spectator:
        return language_of(caller)
    accepted = accepted_language(headers.get(HEADER))
    return SOURCE if accepted is None else accepted.language
