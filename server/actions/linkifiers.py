"""Manage linkifiers and code playgrounds, as an administrator."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.url_templates import (
    MAX_LINKIFIERS,
    checked_alternatives,
    checked_example,
    checked_linkifier,
    checked_playground,
    checked_reverse,
)
from server.events.base import EVERYONE, Entry
from server.events.linkifiers import (
    LinkifiersChanged,
    PlaygroundsChanged,
    ShownLinkifier,
    ShownPlayground,
)
from server.i18n import _
from server.transactions import Tx
from storage import linkifiers, playgrounds
from storage.database import Connection
from storage.ids import LinkifierId, PlaygroundId
from storage.linkifiers import LinkifierRow


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkifierExtras:
    """What clients need besides the pattern and its URL; None leaves a field as it is."""

    example_input: str | None = None
    """Empty: none."""
    reverse_template: str | None = None
    """Empty: none."""
    alternative_url_templates: Sequence[str] | None = None


NO_EXTRAS: Final = LinkifierExtras()


async def add_linkifier(
    tx: Tx,
    actor: Actor,
    pattern: str,
    url_template: str,
    extras: LinkifierExtras = NO_EXTRAS,
) -> LinkifierId:
    """Create a linkifier at the end. Raises BadRequestError."""
    new = _checked(LinkifierRow(LinkifierId(0), pattern, url_template), extras)
    there = await _held(tx, actor)
    if len(there) >= MAX_LINKIFIERS:
        raise BadRequestError(_("Too many linkifiers (limit: {limit})", limit=MAX_LINKIFIERS))
    _check_new(new.pattern, there)
    facts = asdict(new)
    del facts["linkifier_id"]
    linkifier_id = await linkifiers.insert(await tx.changing(), tx.realm_id, **facts)
    added = {linkifier_id: {"linkifier_id": linkifier_id, **facts}}
    entry = await _append_linkifiers(tx)
    audit.record_outcomes(tx, entry, actor.user_id, "linkifier_added", added)
    return linkifier_id


async def change_linkifier(
    tx: Tx,
    actor: Actor,
    linkifier_id: LinkifierId,
    pattern: str,
    url_template: str,
    extras: LinkifierExtras = NO_EXTRAS,
) -> None:
    """Change a linkifier. Raises BadRequestError."""
    there = await _held(tx, actor)
    old = _found(linkifier_id, there)
    new = _checked(replace(old, pattern=pattern, url_template=url_template), extras)
    if new == old:
        return
    _check_new(new.pattern, [row for row in there if row != old])
    await linkifiers.update(await tx.changing(), tx.realm_id, new)
    audit.record(
        tx,
        await _append_linkifiers(tx),
        actor.user_id,
        "linkifier_changed",
        before=asdict(old),
        after=asdict(new),
        subject_id=linkifier_id,
    )


async def remove_linkifier(tx: Tx, actor: Actor, linkifier_id: LinkifierId) -> None:
    """Delete a linkifier; existing messages keep their links. Raises BadRequestError."""
    old = _found(linkifier_id, await _held(tx, actor))
    await linkifiers.delete(await tx.changing(), tx.realm_id, linkifier_id)
    entry = await _append_linkifiers(tx)
    audit.record_removal(tx, entry, actor.user_id, "linkifier_removed", linkifier_id, asdict(old))


async def order_linkifiers(tx: Tx, actor: Actor, ids: Sequence[LinkifierId]) -> None:
    """Set the order of precedence, which names each once. Raises BadRequestError."""
    there = [row.linkifier_id for row in await _held(tx, actor)]
    if sorted(ids) != sorted(there):
        raise InvalidParameterError(
            "ordered_linkifier_ids", _("The ordered list must enumerate all existing linkifiers.")
        )
    if list(ids) == there:
        return
    await linkifiers.update_order(await tx.changing(), tx.realm_id, ids)
    entry, before, after = await _append_linkifiers(tx), {"order": there}, {"order": list(ids)}
    audit.record(tx, entry, actor.user_id, "linkifiers_ordered", before=before, after=after)


async def add_playground(
    tx: Tx, actor: Actor, name: str, language: str, url_template: str
) -> PlaygroundId:
    """Create a code playground. Raises BadRequestError."""
    name, language, url_template = checked_playground(name, language, url_template)
    connection = await _as_administrator(tx, actor)
    for row in await playgrounds.of_realm(connection, tx.realm_id):
        if (row.name, row.pygments_language) == (name, language):
            raise BadRequestError(
                _("There is a playground of this name for this language already.")
            )
    connection = await tx.changing()
    playground_id = await playgrounds.insert(
        connection, tx.realm_id, name=name, language=language, url_template=url_template
    )
    after = {"name": name, "pygments_language": language, "url_template": url_template}
    entry = await _append_playgrounds(tx)
    audit.record_outcomes(tx, entry, actor.user_id, "playground_added", {playground_id: after})
    return playground_id


async def remove_playground(tx: Tx, actor: Actor, playground_id: PlaygroundId) -> None:
    """Delete a code playground. Raises BadRequestError."""
    connection = await _as_administrator(tx, actor)
    rows = await playgrounds.of_realm(connection, tx.realm_id)
    old = next((row for row in rows if row.playground_id == playground_id), None)
    if old is None:
        raise BadRequestError(_("Invalid playground"))
    await playgrounds.delete(await tx.changing(), tx.realm_id, playground_id)
    entry = await _append_playgrounds(tx)
    audit.record_removal(tx, entry, actor.user_id, "playground_removed", playground_id, asdict(old))


async def _as_administrator(tx: Tx, actor: Actor) -> Connection:
    """Lock the realm exclusively, for an administrator. Raises BadRequestError."""
    await lock_as_administrator(tx, actor)
    return await tx.connection()


async def _held(tx: Tx, actor: Actor) -> list[LinkifierRow]:
    """Lock and return all linkifiers."""
    return await linkifiers.of_realm(await _as_administrator(tx, actor), tx.realm_id)


def _checked(row: LinkifierRow, extras: LinkifierExtras) -> LinkifierRow:
    """Return the normalized linkifier with these extras. Raises InvalidParameterError."""
    pattern, url_template = checked_linkifier(row.pattern, row.url_template)
    given = {name: value for name, value in asdict(extras).items() if value is not None}
    row = replace(row, pattern=pattern, url_template=url_template, **given)
    return replace(
        row,
        example_input=checked_example(pattern, row.example_input),
        reverse_template=checked_reverse(pattern, row.reverse_template),
        alternative_url_templates=checked_alternatives(pattern, row.alternative_url_templates),
    )


def _found(linkifier_id: LinkifierId, there: Sequence[LinkifierRow]) -> LinkifierRow:
    for row in there:
        if row.linkifier_id == linkifier_id:
            return row
    raise BadRequestError(_("Linkifier not found."))


def _check_new(pattern: str, others: Sequence[LinkifierRow]) -> None:
    if any(row.pattern == pattern for row in others):
        raise InvalidParameterError("pattern", _("There is a linkifier with this pattern already."))


async def _append_linkifiers(tx: Tx) -> Entry:
    rows = await linkifiers.of_realm(await tx.connection(), tx.realm_id)
    shown = [ShownLinkifier.of(row) for row in rows]
    return tx.append(LinkifiersChanged(realm_linkifiers=shown), EVERYONE)


async def _append_playgrounds(tx: Tx) -> Entry:
    rows = await playgrounds.of_realm(await tx.connection(), tx.realm_id)
    shown = [ShownPlayground.of(row) for row in rows]
    return tx.append(PlaygroundsChanged(realm_playgrounds=shown), EVERYONE)
