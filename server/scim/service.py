"""Answer SCIM requests: the protocol is scim2-server's, the storage is the organization."""

from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, cast

import orjson
from scim2_models import (
    ConflictException,
    ForbiddenException,
    Group,
    InvalidFilterException,
    InvalidValueException,
    NotImplementedException,
    PatchOp,
    PayloadTooLargeException,
    PreconditionFailedException,
    Resource,
    ResourceType,
    ResponseParameters,
    SCIMException,
    SearchRequest,
    UniquenessException,
)
from scim2_server.handler import AsyncScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService
from scim2_server.storage import AsyncScimStorage, SearchPage
from typing_extensions import override

from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import deliver
from server.actions.realm_services import RealmServices
from server.actions.user_roles import owners_of
from server.domain.actor import Actor
from server.domain.errors import DomainError, GroupInUseError
from server.domain.scim import (
    AccountTakenError,
    GroupTakenError,
    LastOwnerError,
    StateChangedError,
    TooManyClosuresError,
)
from server.i18n import _, marked, translated
from server.scim.groups import GroupStorage
from server.scim.resources import PROVIDER, ScimUser
from server.scim.users import UserStorage

MAX_OPERATIONS: Final = 100
"""Maximum number of operations of a PATCH: each takes milliseconds of a large group."""
MAX_SEARCH_CHARACTERS: Final = 4_000
"""Maximum length of a filter, and of the body of a search, which bounds the time to parse it."""
MAX_PROBLEMS: Final = 5
MAX_ATTEMPTS: Final = 20
"""Number of attempts at a change without conditions while others change the same resource."""
TOO_MANY: Final = marked(
    "The directory has deactivated {limit} accounts within an hour, and wants to deactivate more."
    " These stay active until an owner allows it for a day with `POST /realm/scim/closures`, or"
    " the operator with `parley scim allow-closures`."
)


class TolerantService(ScimService):
    """The protocol, as Okta and Entra expect it."""

    @override
    def read_patch(
        self, resource_type: ResourceType, body: bytes, content_type: str | None
    ) -> "PatchOp[Any]":
        patch = super().read_patch(resource_type, selecting_by_value(body), content_type)
        if len(patch.operations or ()) > MAX_OPERATIONS:
            raise PayloadTooLargeException(detail=f"Operations: at most {MAX_OPERATIONS}")
        return patch

    @override
    def patch_response(
        self,
        base_url: str,
        resource: Resource[Any],
        response_parameters: ResponseParameters[Any],
    ) -> ScimResponse:
        """Return a changed user; of groups, which may be large, only what was asked for."""
        if not isinstance(resource, ScimUser):
            return super().patch_response(base_url, resource, response_parameters)
        return self.replacement_response(base_url, resource, response_parameters)


SERVICE: Final = TolerantService(PROVIDER)


class TooManyRequestsException(SCIMException):
    status = 429


class RealmStorage(AsyncScimStorage):
    """One organization as the storage of a SCIM service."""

    def __init__(self, services: RealmServices, actor: Actor, max_closures: int) -> None:
        self._users = UserStorage(services, actor, max_closures)
        self._groups = GroupStorage(services, actor)

    @override
    async def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        if _is_user(resource_type):
            return await self._users.get(resource_id)
        return await self._groups.get(resource_id, response_parameters)

    @override
    async def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        if len(resource_types) != 1:
            raise NotImplementedException(detail="Search in /Users or /Groups.")
        if _is_user(resource_types[0]):
            return await self._users.search(search_request)
        return await self._groups.search(search_request)

    @override
    async def create(self, resource_type: ResourceType, resource: Resource[Any]) -> Resource[Any]:
        if _is_user(resource_type):
            return await self._users.create(cast(ScimUser, resource))
        return await self._groups.create(cast(Group, resource))

    @override
    async def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> Resource[Any]:
        if _is_user(resource_type):
            return await self._users.update(cast(ScimUser, resource), expected_version)
        return await self._groups.update(cast(Group, resource), expected_version)

    @override
    async def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,
    ) -> None:
        if _is_user(resource_type):
            await self._users.delete(resource_id, expected_version)
        else:
            await self._groups.delete(resource_id, expected_version)


async def answer(
    services: RealmServices, actor: Actor, request: ScimRequest, *, max_closures: int
) -> ScimResponse:
    """Answer the request of a directory on behalf of an owner.

    Errors of the request are SCIM errors; others are raised.
    """
    handler = AsyncScimHandler(SERVICE, RealmStorage(services, actor, max_closures))
    is_conditional = bool(request.header("If-Match") or request.header("If-None-Match"))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return await _handle(services, handler, request)
        except SCIMException as raised:
            error = _explained(raised)
            is_overtaken = isinstance(error, PreconditionFailedException) and not is_conditional
            if not is_overtaken or attempt == MAX_ATTEMPTS:
                return SERVICE.error_response(error)
    raise AssertionError("the last attempt returns")


async def _handle(
    services: RealmServices, handler: AsyncScimHandler, request: ScimRequest
) -> ScimResponse:
    """Handle the request. Raises SCIMException."""
    _check_size(request)
    try:
        return await handler.handle(request)
    except TooManyClosuresError as refusal:
        await _notify_owners(services, refusal)
        raise TooManyRequestsException(detail=refusal.message) from refusal
    except (AccountTakenError, GroupTakenError) as refusal:
        raise UniquenessException(detail=refusal.message) from refusal
    except StateChangedError as refusal:
        raise PreconditionFailedException from refusal
    except LastOwnerError as refusal:
        raise ForbiddenException(detail=refusal.message) from refusal
    except GroupInUseError as refusal:
        raise ConflictException(detail=refusal.message) from refusal
    except DomainError as refusal:
        if refusal.status != InvalidValueException.status:
            raise
        raise InvalidValueException(detail=refusal.message) from refusal


def _explained(error: SCIMException) -> SCIMException:
    """Return the error for an invalid value with what is wrong, and nothing of the library."""
    # The library's own error of a value (pydantic's) has them one by one.
    errors = getattr(error.__cause__ or error.__context__, "errors", None)
    if errors is None or "validation error" not in (error.detail or ""):
        return error
    problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors()]
    return InvalidValueException(detail="; ".join(problems[:MAX_PROBLEMS]))


def _check_size(request: ScimRequest) -> None:
    """Raise SCIMException for a search that takes long to parse."""
    if len(request.query.get("filter", "")) > MAX_SEARCH_CHARACTERS:
        raise InvalidFilterException(detail=f"filter: at most {MAX_SEARCH_CHARACTERS} characters")
    if request.path.endswith(".search") and len(request.body) > MAX_SEARCH_CHARACTERS:
        raise PayloadTooLargeException(detail=f"A search has at most {MAX_SEARCH_CHARACTERS} bytes")


async def _notify_owners(services: RealmServices, refusal: TooManyClosuresError) -> None:
    """Tell the owners, once an hour, that the directory wants to deactivate more accounts."""
    async with services.read() as connection:
        owners = await owners_of(connection, services.realm_id)
    for user_id in owners:
        language = await services.realm_cache.language_of(user_id)
        content = translated(_(TOO_MANY, limit=refusal.limit), language)
        key = f"scim-closures:{user_id}:{services.clock.now():%Y-%m-%dT%H}"
        draft = OutgoingMessage(type="direct", to=[user_id], topic=None, content=content)
        digest = sha256(key.encode()).digest()
        await deliver(services, replace(draft, idempotency_key=key, idempotency_digest=digest))


def selecting_by_value(body: bytes) -> bytes:
    """Return the PATCH with removals that select entries by their `value` alone.

    Entra and others name more of an entry, such as `"$ref": null`, which need not be as it is here.
    """
    try:
        patch = orjson.loads(body)
        operations = patch["Operations"]
        for operation in operations:
            if operation["op"].lower() == "remove" and isinstance(operation.get("value"), list):
                operation["value"] = [
                    {"value": each["value"]} if each.get("value") else each
                    for each in operation["value"]
                ]
    except (ValueError, TypeError, KeyError, AttributeError):
        return body  # which is refused with what is wrong about it
    return orjson.dumps(patch)


def _is_user(resource_type: ResourceType) -> bool:
    return resource_type.name == "User"
