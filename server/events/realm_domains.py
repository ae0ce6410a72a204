"""Events of the realm's email domains."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.realm_domains import DomainRow


class ShownDomain(msgspec.Struct, frozen=True, kw_only=True):
    domain: str
    allow_subdomains: bool

    @classmethod
    def of(cls, row: DomainRow) -> "ShownDomain":
        return cls(domain=row.domain, allow_subdomains=row.allow_subdomains)


class _OfDomains(Event, frozen=True, kw_only=True):
    wire_type: ClassVar[str] = "realm_domains"

    type: Literal["realm_domains"] = "realm_domains"


class DomainAdded(_OfDomains, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm_domains/add"

    op: Literal["add"] = "add"
    realm_domain: ShownDomain


class DomainChanged(_OfDomains, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm_domains/change"

    op: Literal["change"] = "change"
    realm_domain: ShownDomain


class DomainRemoved(_OfDomains, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm_domains/remove"

    op: Literal["remove"] = "remove"
    domain: str
