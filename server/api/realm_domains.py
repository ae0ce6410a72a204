"""Endpoints of the realm's email domains."""

from server.actions import realm_domains
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.events.realm_domains import ShownDomain
from storage import realm_domains as rows


class OneParams(Params):
    domain: str
    """The domain, such as `example.com`."""


class DomainParams(OneParams):
    allow_subdomains: bool
    """Whether addresses in its subdomains count, too."""


class DomainsResult(Result):
    domains: list[ShownDomain]


class AddedResult(Result):
    new_domain: tuple[int, str]


async def list_all(request: Request, params: NoParams) -> DomainsResult:
    del params
    async with request.read() as connection:
        found = await rows.of_realm(connection, request.actor.realm_id)
    return DomainsResult(domains=[ShownDomain.of(row) for row in found])


async def add(request: Request, params: DomainParams) -> AddedResult:
    added = await request.write(
        realm_domains.add_domain, params.domain, allow_subdomains=params.allow_subdomains
    )
    return AddedResult(new_domain=added)


async def change(request: Request, params: DomainParams) -> Empty:
    await request.write(
        realm_domains.change_domain, params.domain, allow_subdomains=params.allow_subdomains
    )
    return Empty()


async def remove(request: Request, params: OneParams) -> Empty:
    await request.write(realm_domains.remove_domain, params.domain)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/domains",
        Access.USER,
        NoParams,
        list_all,
        DomainsResult,
        summary="List the organization's domains",
        description=(
            "With `emails_restricted_to_domains`, only people with an address in one of them can"
            " join."
        ),
    ),
    Endpoint(
        "POST",
        "/realm/domains",
        Access.ADMIN,
        DomainParams,
        add,
        AddedResult,
        summary="Add a domain",
    ),
    Endpoint(
        "PATCH",
        "/realm/domains/{domain}",
        Access.ADMIN,
        DomainParams,
        change,
        summary="Change a domain",
    ),
    Endpoint(
        "DELETE",
        "/realm/domains/{domain}",
        Access.ADMIN,
        OneParams,
        remove,
        summary="Remove a domain",
    ),
)
