"""Add an import to a realm in use: accounts, channels, positions, conversations.

Each step is a write like any other: its events reach all clients concerned, and its transaction
records the progress. docs/adr/0043-imports-into-organizations-in-use.md.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from server.actions.channel_audiences import audiences_allowed_to_see
from server.actions.credential_changes import end_queues
from server.actions.locked_realm import lock_realm, lock_realm_context
from server.actions.realm_services import RealmServices
from server.actions.user_roles import owners_of
from server.actions.users import create_users
from server.domain.pins import MAX_PINNED_MESSAGES
from server.domain.realm_settings import RealmSettings
from server.events.base import NO_AUDIENCE, PositionsReserved
from server.events.channels import RECENTLY
from server.events.log import Tick
from server.events.messages import ConversationOpened
from server.i18n import _, marked
from server.imports.accounts import (
    PlannedAccount,
    people_of,
    planned_newcomers,
)
from server.imports.channel_units import (
    ChannelUnit,
    add_channel_unit,
    channel_units,
    has_protected_history,
)
from server.imports.errors import ELSEWHERE, FileRefusedError, ImportStoppedError
from server.imports.matching import AccountMatcher, people_in
from server.imports.pacing import paced
from server.imports.preferences import remark_on_preferences
from server.imports.report import ImportReport
from server.imports.survey import Progress, Survey
from server.runtime.version import VERSION
from server.transactions import Tx
from storage import channels, import_joining, import_keys, imports, pins, upload_space, workers
from storage.channels import ActivityRow
from storage.database import Database
from storage.ids import ChannelId, Position, UserId
from storage.imports import ImportRow

PEOPLE: Final = "people"
CHANNELS: Final = "channels"
POSITIONS: Final = "positions"
CONVERSATIONS: Final = "conversations"
JOINING: Final = (PEOPLE, CHANNELS, POSITIONS, CONVERSATIONS)
"""Phases before those that imports into new realms have, in this order."""

PEOPLE_BATCH: Final = 5
"""Accounts in a write."""
CONVERSATION_BATCH: Final = 50
SURPLUS_PINS: Final = marked(
    "pinned messages are more than a channel may have: its newest ones stay pinned"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is recorded of an import when it begins."""

    source: str
    fingerprint: bytes
    options: Mapping[str, Any]
    owner_id: UserId | None
    """None: the realm's first owner."""


def added_to_realm(row: ImportRow) -> bool:
    """Return whether the import adds to a realm that it did not create."""
    return "owner_id" in row.options


async def begin(
    services: RealmServices,
    database: Database,
    wanted: Beginning,
    found: Survey,
    domain: str,
    report: ImportReport,
) -> None:
    """Record that the import has begun, with the report of what was surveyed.

    Raises FileRefusedError if it may not begin.
    """
    async with database.connection() as connection:
        others = {each.version for each in await workers.at_work(connection) if each.serves}
    if others - {VERSION}:
        raise FileRefusedError(
            _(
                "Processes of another release serve this organization, and would not follow: let"
                " all of them run this release first."
            )
        )
    planned_newcomers(found, domain, report)
    remark_on_preferences(found, report)
    await services.write(
        partial(_begin, wanted=wanted, total=found.messages, report=report, services=services)
    )


async def _begin(
    tx: Tx, *, wanted: Beginning, total: int, report: ImportReport, services: RealmServices
) -> None:
    # The realm's lock lets one import begin at a time.
    await lock_realm(tx, alone=True)
    connection = await tx.connection()
    if unfinished := await imports.unfinished(connection, tx.realm_id):
        raise FileRefusedError(
            _(
                "Another import of {source} into this organization has not ended: continue it with"
                " the same file, or abandon it, first.",
                source=unfinished.source,
            )
        )
    owners = await owners_of(connection, tx.realm_id)
    if not owners:
        raise FileRefusedError(_("The organization has no active owner: give it one first."))
    owner_id = wanted.owner_id if wanted.owner_id in owners else owners[0]
    await upload_space.begin(await tx.changing(), tx.realm_id)
    await imports.insert(
        await tx.changing(),
        tx.realm_id,
        ImportRow(
            import_id=0,
            source=wanted.source,
            options={**wanted.options, "owner_id": owner_id},
            phase=PEOPLE,
            done=0,
            total=total,
            first_position=Position(0),
            report=report.as_json(),
            ended_at=None,
        ),
        fingerprint=wanted.fingerprint,
        now=services.clock.now(),
    )
    tx.append(Tick(), NO_AUDIENCE)


class Joining:
    """Writes the phases of JOINING, from the progress on."""

    def __init__(
        self, services: RealmServices, found: Survey, domain: str, progress: Progress
    ) -> None:
        self._services = services
        self._found = found
        self._domain = domain
        self._progress = progress

    async def run(self, row: ImportRow) -> ImportRow:
        """Take all steps that are left; return the progress, with all of them done.

        Raises ImportStoppedError if another process continues the import.
        """
        if row.phase == PEOPLE:
            row = await self._add_people(row)
            row = await self._advance(row, CHANNELS)
        if row.phase == CHANNELS:
            row = await self._add_channels(row)
            row = await self._advance(row, POSITIONS)
        if row.phase == POSITIONS:
            row = await self._reserve(row)
        return await self._open_conversations(row)

    async def _add_people(self, row: ImportRow) -> ImportRow:
        planned = planned_newcomers(self._found, self._domain, ImportReport())
        while batch := planned[row.done : row.done + PEOPLE_BATCH]:
            after = replace(row, done=row.done + len(batch))
            row = await self._write(partial(self._people_step, row, after, batch))
            self._progress("people", row.done, len(planned))
        return row

    async def _people_step(
        self, row: ImportRow, after: ImportRow, batch: Sequence[PlannedAccount], tx: Tx
    ) -> ImportRow:
        tx.must_be_exact()
        realm = await lock_realm(tx, alone=True)
        connection = await tx.connection()
        accounts = AccountMatcher(
            row, unique_names=RealmSettings.of(realm.settings).require_unique_names
        )
        known = await accounts.find(connection, tx, batch)
        new = [account for account in batch if account.keys[0] not in known]
        people = await people_in(connection, tx.realm_id, row.import_id)
        names = await accounts.named(connection, tx, new, people, self._services.clock.now())
        created = await create_users(tx, names, now=self._services.clock.now()) if names else []
        report = ImportReport.of(row.report)
        report.count(marked("accounts that were here already"), len({*known.values()}))
        for what, count in people_of(new).items():
            report.count(what, count)
        after = replace(after, report=report.as_json())
        ids = {
            key: person.user_id
            for person, account in zip(created, new, strict=True)
            for key in account.keys
        }
        there = {key: known[a.keys[0]] for a in batch if a.keys[0] in known for key in a.keys}
        connection = await tx.changing()
        await connection.run(import_keys.keep(tx.realm_id, row.import_id, "person", ids))
        await connection.run(import_keys.keep(tx.realm_id, row.import_id, "account", there))
        return await finish_step(tx, row, after)

    async def _add_channels(self, row: ImportRow) -> ImportRow:
        people = await self._people(row)
        units = channel_units(self._found, people)
        for unit in units[row.done :]:
            after = replace(row, done=row.done + 1)
            row = await self._write(partial(_channel_step, row, after, unit))
            self._progress("channels", row.done, len(units))
        return row

    async def _write(self, step: Callable[[Tx], Awaitable[ImportRow]]) -> ImportRow:
        return await paced(self._services.write(step))

    async def _people(self, row: ImportRow) -> dict[str, UserId]:
        async with self._services.read() as connection:
            return await people_in(connection, self._services.realm_id, row.import_id)

    async def _reserve(self, row: ImportRow) -> ImportRow:
        await self._services.write(partial(_reserve_step, row))
        async with self._services.read() as connection:
            found = await imports.by_id(connection, self._services.realm_id, row.import_id)
        assert found is not None
        return found

    async def _open_conversations(self, row: ImportRow) -> ImportRow:
        """Mark what is imported as read in the channels, and open direct conversations."""
        async with self._services.read() as connection:
            places = await import_keys.keys_of(
                connection, self._services.realm_id, row.import_id, "channel"
            )
        people = await self._people(row)
        ids = sorted({ChannelId(each) for each in places.values()})
        groups: dict[tuple[UserId, ...], list[str]] = {}
        for each in self._found.conversations:
            members = tuple(sorted({people[key] for key in each.members if key in people}))
            if members and each.key not in places:
                keys = groups.setdefault(members, [])
                if each.key not in keys:
                    keys.append(each.key)
        opened = list(groups.items())
        steps: list[ChannelId | list[tuple[tuple[UserId, ...], list[str]]]] = [
            *ids,
            *(
                opened[start : start + CONVERSATION_BATCH]
                for start in range(0, len(opened), CONVERSATION_BATCH)
            ),
        ]
        if row.total == 0:
            return row
        for step in steps[row.done :]:
            after = replace(row, done=row.done + 1)
            if isinstance(step, list):
                row = await self._write(partial(_conversations_step, row, after, step))
            else:
                unreceived = self._unreceived(places, people, step)
                row = await self._services.write(partial(_read_step, row, after, step, unreceived))
        return row

    def _unreceived(
        self, places: Mapping[str, int], people: Mapping[str, UserId], channel_id: ChannelId
    ) -> dict[UserId, int]:
        """Return how many of the messages members of a channel with protected history did not get.

        The first ones, in the order of the file. Empty for all other channels.
        """
        numbers: dict[UserId, int] = {}
        for channel in self._found.channels:
            if places.get(channel.key) != channel_id or not has_protected_history(channel):
                continue
            for key in channel.members:
                moment = (channel.since or {}).get(key)
                firsts, end = self._found.firsts, self._found.messages + 1
                first = end if moment is None else firsts.get(moment, end)
                user_id = people[key]
                numbers[user_id] = min(first - 1, numbers.get(user_id, first - 1))
        return numbers

    async def _advance(self, row: ImportRow, phase: str) -> ImportRow:
        async with self._services.read() as connection:
            advanced = await connection.run(
                imports.advance(
                    self._services.realm_id, row, phase=phase, done=0, report=row.report
                )
            )
        if not advanced:
            raise ImportStoppedError(ELSEWHERE)
        return replace(row, phase=phase, done=0)


async def publish_activity(
    services: RealmServices, row: ImportRow, channel_ids: Iterable[ChannelId]
) -> ImportRow:
    """Publish what the messages of these channels make of them; return the progress."""
    for channel_id in sorted(set(channel_ids)):
        row = await services.write(partial(_activity_step, row, channel_id))
    return row


async def _activity_step(row: ImportRow, channel_id: ChannelId, tx: Tx) -> ImportRow:
    unpinned = await publish_channel_activity(channel_id, tx)
    if not unpinned:
        return row
    report = ImportReport.of(row.report)
    report.remark(SURPLUS_PINS, count=unpinned)
    return await finish_step(tx, row, replace(row, report=report.as_json()))


async def publish_channel_activity(channel_id: ChannelId, tx: Tx) -> int:
    """Publish the channel's first and pinned messages, and whether it is active.

    Of more pinned messages than a channel may have, the oldest are unpinned; return how many.
    """
    context = await lock_realm_context(tx, [])
    connection = await tx.connection()
    rows = await channels.by_ids(connection, tx.realm_id, [channel_id])
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, rows)
    for row in rows:
        statement = channels.append_activity_event(
            tx.realm_id,
            ActivityRow(
                channel_id=row.channel_id,
                first_message_id=None,
                last_sent_at=None,
                recent_messages=0,
            ),
            now=context.graph.clock.now(),
            recently=RECENTLY,
            audience=audiences[row.channel_id].encode(),
            write_id=tx.write_id,
        )
        tx.at_position(tx.append(Tick(), NO_AUDIENCE), statement)
    unpinned = await pins.unpin_oldest(
        await tx.changing(), tx.realm_id, channel_id, kept=MAX_PINNED_MESSAGES
    )
    published = pins.append_messages(tx.realm_id, channel_id, None, write_id=tx.write_id)
    tx.at_position(tx.append(Tick(), NO_AUDIENCE), published)
    return unpinned


async def finish_step(tx: Tx, row: ImportRow, after: ImportRow) -> ImportRow:
    """Record the progress as the last act of a write; return it."""
    connection = await tx.changing()
    advanced = await connection.run(
        imports.advance(tx.realm_id, row, phase=after.phase, done=after.done, report=after.report)
    )
    if not advanced:
        raise ImportStoppedError(ELSEWHERE)
    tx.append(Tick(), NO_AUDIENCE)
    return after


async def _channel_step(row: ImportRow, after: ImportRow, unit: ChannelUnit, tx: Tx) -> ImportRow:
    report = ImportReport.of(row.report)
    await add_channel_unit(tx, row, unit, report)
    return await finish_step(tx, row, replace(after, report=report.as_json()))


async def _reserve_step(row: ImportRow, tx: Tx) -> None:
    """Take a position for each message: one entry stands for all of them."""
    connection = await tx.changing()
    advanced = await connection.run(
        imports.advance(tx.realm_id, row, phase=CONVERSATIONS, done=0, report=row.report)
    )
    if not advanced:
        raise ImportStoppedError(ELSEWHERE)
    entry = tx.append(PositionsReserved(count=row.total), NO_AUDIENCE)
    tx.at_position(entry, import_joining.set_range(tx.realm_id, row.import_id, row.total))


async def _read_step(
    row: ImportRow,
    after: ImportRow,
    channel_id: ChannelId,
    unreceived: Mapping[UserId, int],
    tx: Tx,
) -> ImportRow:
    entry = tx.append(Tick(), NO_AUDIENCE)
    first, last = row.first_position + 1, row.first_position + row.total
    tx.at_position(
        entry, import_joining.mark_channel_read(tx.realm_id, channel_id, first=first, last=last)
    )
    if any(unreceived.values()):
        # Processes know their spans as of when they joined: their clients begin anew.
        await end_queues(tx, sorted(user_id for user_id, count in unreceived.items() if count))
        cut = import_joining.cut_spans(tx.realm_id, channel_id, unreceived, first=first)
        tx.at_position(entry, cut)
    return await finish_step(tx, row, after)


async def _conversations_step(
    row: ImportRow,
    after: ImportRow,
    groups: Sequence[tuple[tuple[UserId, ...], Sequence[str]]],
    tx: Tx,
) -> ImportRow:
    first, last = row.first_position + 1, row.first_position + row.total
    for members, keys in groups:
        entry = tx.append(ConversationOpened(user_ids=members), NO_AUDIENCE)
        statement = import_joining.join_dm_group(
            tx.realm_id, row.import_id, keys, members, first=first, last=last
        )
        tx.at_position(entry, statement)
    report = ImportReport.of(row.report)
    report.count(marked("direct conversations"), len(groups))
    return await finish_step(tx, row, replace(after, report=report.as_json()))
