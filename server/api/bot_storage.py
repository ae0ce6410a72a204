"""What bots keep from one run to the next, over HTTP."""

from server.actions import bot_storage as actions
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Params
from server.domain.api_keys import Scope
from storage import bot_storage


class KeysParams(Params):
    keys: list[str] | None = None


class PutParams(Params):
    storage: dict[str, str]


class Storage(Result):
    storage: dict[str, str]


async def get(request: Request, params: KeysParams) -> Storage:
    actor = request.actor
    async with request.read() as connection:
        found = await bot_storage.of_user(connection, actor.realm_id, actor.user_id, params.keys)
    actions.check_all_found(params.keys or (), found)
    return Storage(storage=found)


async def put(request: Request, params: PutParams) -> Empty:
    await request.write(actions.put, params.storage)
    return Empty()


async def remove(request: Request, params: KeysParams) -> Empty:
    await request.write(actions.remove, params.keys)
    return Empty()


PATH = "/bot_storage"
ENDPOINTS = (
    Endpoint("GET", PATH, Access.USER, KeysParams, get, Storage),
    Endpoint("PUT", PATH, Access.USER, PutParams, put, scope=Scope.MESSAGES),
    Endpoint("DELETE", PATH, Access.USER, KeysParams, remove, scope=Scope.MESSAGES),
)
