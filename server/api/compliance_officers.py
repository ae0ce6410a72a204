"""Endpoints with which owners appoint compliance officers."""

import msgspec

from server.actions.compliance import officers as actions
from server.actions.compliance.notices import OWNER_NOTICES
from server.actions.stepped_work import finish
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.domain.api_keys import Scope
from storage import compliance
from storage.ids import UserId


class Officer(msgspec.Struct, frozen=True, kw_only=True):
    """A compliance officer."""

    user_id: UserId
    appointed_by: UserId
    """The owner who appointed the officer."""
    appointed_at: int
    """In seconds since 1970."""


class OfficerList(Result):
    officers: list[Officer]
    needs_two_persons: bool
    """Whether another officer has to approve each case."""


async def list_all(request: Request, params: NoParams) -> OfficerList:
    del params
    request.refuse_bots()
    actor = request.actor
    async with request.read() as connection:
        await actions.check_owner_or_officer(connection, actor)
        rows = await compliance.officers(connection, actor.realm_id)
        needed = await compliance.needs_two_persons(connection, actor.realm_id)
    return OfficerList(
        officers=[
            Officer(
                user_id=row.user_id,
                appointed_by=row.creator_id,
                appointed_at=int(row.appointed_at.timestamp()),
            )
            for row in rows
        ],
        needs_two_persons=needed,
    )


class ProofParams(Params):
    old_password: str | None = None
    """Your password, if the account has one. Without one, and with a second factor, the session
    must have begun within the last ten minutes."""


class AppointParams(ProofParams):
    user_id: int
    """Id of the user: an active person who is no guest."""


class RuleParams(ProofParams):
    needs_two_persons: bool
    """Whether another officer has to approve each new case."""


class DismissParams(Params):
    user_id: int
    """Id of the user."""


async def appoint(request: Request, params: AppointParams) -> Empty:
    request.refuse_programs()
    proof = await request.reauthentication.prove_for_factors(params.old_password)
    now = request.app.clock.now()
    work_id = await request.write(actions.appoint_officer, UserId(params.user_id), proof, now=now)
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return Empty()


async def dismiss(request: Request, params: DismissParams) -> Empty:
    request.refuse_programs()
    now = request.app.clock.now()
    work_id = await request.write(actions.dismiss_officer, UserId(params.user_id), now=now)
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return Empty()


async def set_rule(request: Request, params: RuleParams) -> Empty:
    request.refuse_programs()
    proof = await request.reauthentication.prove_for_factors(params.old_password)
    needed = params.needs_two_persons
    work_id = await request.write(actions.set_two_persons, proof, needed=needed)
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/compliance/officers",
        Access.USER,
        NoParams,
        list_all,
        OfficerList,
        summary="List compliance officers",
        description="For owners and compliance officers.",
        scope=Scope.EVERYTHING,
    ),
    Endpoint(
        "POST",
        "/compliance/officers",
        Access.USER,
        AppointParams,
        appoint,
        summary="Appoint a compliance officer",
        description=(
            "For owners, with proof. The officer may place legal holds, and open cases in which"
            " all messages can be searched. All owners get a message of it."
        ),
    ),
    Endpoint(
        "DELETE",
        "/compliance/officers/{user_id}",
        Access.USER,
        DismissParams,
        dismiss,
        summary="Dismiss a compliance officer",
        description="For owners. The officer's cases are closed. All owners get a message of it.",
    ),
    Endpoint(
        "PATCH",
        "/compliance/rules",
        Access.USER,
        RuleParams,
        set_rule,
        summary="Set whether compliance cases need two persons",
        description=(
            "For owners, with proof. Cases that wait for an approval already go on waiting. All"
            " owners get a message of it."
        ),
    ),
)
