"""Endpoints of bots' persistent storage."""

from server.actions import bot_storage as actions
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Params
from server.domain.api_keys import Scope
from storage import bot_storage


class KeysParams(Params):
    keys: list[str] | None = None
    """Keys of the values. Without it: all values."""


class PutParams(Params):
    storage: dict[str, str]
    """Texts to store, by key."""


class Storage(Result):
    storage: dict[str, str]


async def get(request: Request, params: KeysParams) -> Storage:
    request.refuse_people()
    actor = request.actor
    async with request.read() as connection:
        found = await bot_storage.of_user(connection, actor.realm_id, actor.user_id, params.keys)
    actions.check_all_found(params.keys or (), found)
    return Storage(storage=found)


async def put(request: Request, params: PutParams) -> Empty:
    request.refuse_people()
    await request.write(actions.put, params.storage)
    return Empty()


async def remove(request: Request, params: KeysParams) -> Empty:
    request.refuse_people()
    await request.write(actions.remove, params.keys)
    return Empty()


PATH = "/bot_storage"
ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        KeysParams,
        get,
        Storage,
        summary="Read the bot's stored values",
        description="Each bot has a small store of texts by key, which only it reads and writes.",
    ),
    Endpoint(
        "PUT",
        PATH,
        Access.USER,
        PutParams,
        put,
        scope=Scope.MESSAGES,
        summary="Store values for the bot",
        description="Values under other keys stay as they are.",
    ),
    Endpoint(
        "DELETE",
        PATH,
        Access.USER,
        KeysParams,
        remove,
        scope=Scope.MESSAGES,
        summary="Remove stored values of the bot",
    ),
)
