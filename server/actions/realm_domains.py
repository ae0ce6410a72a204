"""Manage the realm's email domains, as an owner."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, locked_realm_of
from server.actions.realm_settings import lift_restriction_to_domains
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.realm_domains import MAX_DOMAINS, checked_domain
from server.events.base import EVERYONE, Event
from server.events.realm_domains import DomainAdded, DomainChanged, DomainRemoved, ShownDomain
from server.i18n import _
from server.transactions import Tx
from storage import realm_domains
from storage.realm_domains import DomainRow
from storage.realms import RealmRow


async def add_domain(
    tx: Tx, actor: Actor, domain: str, *, allow_subdomains: bool
) -> tuple[int, str]:
    """Add a domain; return its id and normalized form. Raises a DomainError."""
    row = DomainRow(checked_domain(domain), allow_subdomains)
    _realm, there = await _held(tx, actor)
    if any(each.domain == row.domain for each in there):
        raise InvalidParameterError(
            "domain",
            _("The domain {domain} is already a part of your organization.", domain=row.domain),
        )
    if len(there) >= MAX_DOMAINS:
        raise BadRequestError(_("Too many domains (limit: {limit})", limit=MAX_DOMAINS))
    domain_id = await realm_domains.insert(await tx.changing(), tx.realm_id, row)
    event = DomainAdded(realm_domain=ShownDomain.of(row))
    audit.append_recorded(
        tx, actor.user_id, "domain_added", event, EVERYONE, before={}, after=asdict(row)
    )
    return domain_id, row.domain


async def change_domain(tx: Tx, actor: Actor, domain: str, *, allow_subdomains: bool) -> None:
    """Set whether subdomains belong to it, too. Raises BadRequestError."""
    _realm, there = await _held(tx, actor)
    old = _found(domain, there)
    new = replace(old, allow_subdomains=allow_subdomains)
    if new == old:
        return
    await realm_domains.update(await tx.changing(), tx.realm_id, new)
    event = DomainChanged(realm_domain=ShownDomain.of(new))
    audit.append_recorded(
        tx, actor.user_id, "domain_changed", event, EVERYONE, before=asdict(old), after=asdict(new)
    )


async def remove_domain(tx: Tx, actor: Actor, domain: str) -> None:
    """Remove a domain; without any the restriction to domains ends.

    Raises BadRequestError.
    """
    realm, there = await _held(tx, actor)
    old = _found(domain, there)
    await realm_domains.delete(await tx.changing(), tx.realm_id, old.domain)
    event = DomainRemoved(domain=old.domain)
    audit.append_recorded(
        tx, actor.user_id, "domain_removed", event, EVERYONE, before=asdict(old), after={}
    )
    if there == [old]:
        await lift_restriction_to_domains(tx, actor, await locked_realm_of(tx, realm, ()))


async def _held(tx: Tx, actor: Actor) -> tuple[RealmRow, list[DomainRow]]:
    """Lock and return the realm and its domains, for an owner."""
    realm = await lock_as_owner(tx, actor)
    return realm, await realm_domains.of_realm(await tx.connection(), tx.realm_id)


def _found(domain: str, there: Sequence[DomainRow]) -> DomainRow:
    for row in there:
        if row.domain == domain.strip().lower():
            return row
    raise BadRequestError(_("No entry found for domain {domain}.", domain=domain))


def _append(
    tx: Tx,
    actor: Actor,
    action: str,
    event: Event,
    *,
    before: audit.Values,
    after: audit.Values,
) -> None:
    user_id = actor.user_id
    audit.append_recorded(tx, user_id, action, event, EVERYONE, before=before, after=after)
