"""Subscribe oneself or others, to existing or new channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from server.actions.channels.create import ChannelSpec, checked_terms, create_channels
from server.actions.locked_realm import PEOPLE_IN_BATCH, LockedRealm, lock_context
from server.actions.messages.notices import Notice
from server.actions.subscriptions.membership import MAX_CHOOSING, MembershipChange, join
from server.actions.subscriptions.news import (
    MAX_NOTIFIED_USERS,
    of_new_channels,
    of_subscriptions,
)
from server.actions.subscriptions.principals import principal_ids, refuse_unfit
from server.actions.subscriptions.steps import (
    PAIRS_PER_STEP,
    SubscribePlan,
    people_per_step,
    put_off_rest,
)
from server.domain.actor import Actor
from server.domain.channel_creation import ChannelTerms, CreationNotPermittedError, check_creator
from server.domain.errors import BadRequestError, ChannelAlreadyExistsError
from server.i18n import _
from server.runtime.grouping import grouped
from server.transactions import StaleDecisionError, Tx
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId
from storage.name_folding import FoldedName
from storage.subscriptions import SubscriptionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRequest:
    """Users and channels to subscribe."""

    wanted: Sequence[ChannelSpec]
    principals: Sequence[int] | Sequence[str] | None = None
    """Ids or addresses of the users; None: the actor."""
    authorization_errors_fatal: bool = True
    terms: ChannelTerms = field(default_factory=ChannelTerms)
    """For channels that the request creates."""
    announce: bool = False
    """Whether to announce new channels."""
    notify: bool = False
    """Whether to notify the users by a direct message."""
    pairs_per_step: int = PAIRS_PER_STEP
    is_looked_up: bool = False
    """As in MembershipChange."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribed:
    """Results: names of channels by user."""

    subscribed: dict[UserId, list[str]]
    already_subscribed: dict[UserId, list[str]]
    unauthorized: list[str]
    created: list[ChannelRow]
    work_id: str | None
    """Id of unfinished work, which `stepped_work.finish` continues."""


@dataclass(frozen=True, slots=True)
class _SubscribeDecision:
    """The decided request, with all its rows locked."""

    actor_id: UserId
    context: LockedRealm
    principal_ids: Sequence[UserId]
    existing: Sequence[tuple[str, ChannelRow]]
    """Existing channels, each with the name that was given."""
    missing: Sequence[ChannelSpec]
    rows: Mapping[tuple[UserId, ChannelId], SubscriptionRow]

    def joins(self, user_id: UserId, targets: Sequence[ChannelRow]) -> list[ChannelRow]:
        """Return those of these channels to which the user is not subscribed yet."""
        return [each for each in targets if not self.is_in(user_id, each.channel_id)]

    def is_in(self, user_id: UserId, channel_id: ChannelId) -> bool:
        row = self.rows.get((user_id, channel_id))
        return row is not None and row.active


async def subscribe(
    tx: Tx, actor: Actor, request: SubscriptionRequest, *, web_public_enabled: bool
) -> Subscribed:
    """Subscribe the users to the channels; create missing ones.

    Raises BadRequestError, with nothing done, for an invalid name, an unknown or deactivated
    principal, invalid terms, and, unless the request disables it, for a channel that is archived,
    or that the actor may not create, join or add users to. An actor who may not create channels
    does not learn which names belong to channels that they may not know.
    """
    plan = await _plan(tx, actor, request)
    allowed, refused = _sorted_by_permission(plan, actor)
    terms, makes = request.terms, list(plan.missing)
    if makes or not _knows_all(plan, actor):
        terms = await checked_terms(tx, plan.context, terms, web_public_enabled=web_public_enabled)
        try:
            check_creator(plan.context.standing(actor.user_id), terms)
        except CreationNotPermittedError:
            if request.authorization_errors_fatal:
                raise
            refused += [each.name for each in makes]
            makes = []
    given = dict.fromkeys(each.name for each in request.wanted)
    refused = [name for name in given if name in refused]
    if refused and request.authorization_errors_fatal:
        raise BadRequestError(_("Unable to access channel ({names}).", names=", ".join(refused)))

    created = []
    if makes:
        created = await create_channels(tx, plan.context, actor.user_id, makes, terms)
    targets = [*allowed, *created]
    notices = _notices(plan, targets, created, announce=request.announce, notify=request.notify)
    work_id = await _join_first(
        tx,
        plan,
        targets,
        notices,
        pairs_per_step=request.pairs_per_step,
        is_looked_up=request.is_looked_up,
    )
    asked = [(user_id, channel) for user_id in plan.principal_ids for channel in targets]
    already = [(u, i.name) for u, i in asked if plan.is_in(u, i.channel_id)]
    return Subscribed(
        subscribed=grouped((u, i.name) for u, i in asked if not plan.is_in(u, i.channel_id)),
        already_subscribed=grouped(already),
        unauthorized=refused,
        created=created,
        work_id=work_id,
    )


async def create_channel(
    tx: Tx,
    actor: Actor,
    wanted: ChannelSpec,
    subscriber_ids: Sequence[UserId],
    terms: ChannelTerms,
    *,
    announce: bool,
    notify: bool,
    web_public_enabled: bool,
) -> tuple[ChannelRow, str | None]:
    """Create one channel, and subscribe these users, if any.

    The second of the results is as `Subscribed.work_id`. Raises ChannelAlreadyExistsError;
    CreationNotPermittedError; BadRequestError for an unknown or deactivated subscriber, and for
    invalid terms.
    """
    people = list(dict.fromkeys(subscriber_ids))
    if len(people) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    context = await lock_context(tx, actor, people, names_change=True)
    refuse_unfit(context, people)
    terms = await checked_terms(tx, context, terms, web_public_enabled=web_public_enabled)
    # Before the name: an actor who may create none does not learn which exist.
    check_creator(context.standing(actor.user_id), terms)
    [named] = await channels.named(await tx.connection(), tx.realm_id, [wanted.name])
    if named.channel_id is not None:
        raise ChannelAlreadyExistsError(wanted.name)
    created = await create_channels(tx, context, actor.user_id, [wanted], terms)
    plan = _SubscribeDecision(actor.user_id, context, people, [], [], {})
    notices = _notices(plan, created, created, announce=announce, notify=notify)
    return created[0], await _join_first(tx, plan, created, notices)


async def _plan(tx: Tx, actor: Actor, request: SubscriptionRequest) -> _SubscribeDecision:
    """Lock the realm, the users, the channels, in this order."""
    principals = await principal_ids(tx, actor, request.principals)
    if len(principals) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    before = await channels.named(
        await tx.connection(), tx.realm_id, [each.name for each in request.wanted]
    )
    makes = any(each.channel_id is None for each in before)
    context = await lock_context(tx, actor, principals, names_change=makes)
    refuse_unfit(context, principals)

    connection = await tx.connection()
    names = await channels.named(connection, tx.realm_id, [each.name for each in request.wanted])
    missing: dict[FoldedName, ChannelSpec] = {}
    for spec, name in zip(request.wanted, names, strict=True):
        if name.channel_id is None:
            missing.setdefault(name.key, spec)  # one for each name, regardless of case
    if missing and not makes:
        raise StaleDecisionError
    given: dict[ChannelId, str] = {}
    for each in names:
        if each.channel_id is not None:
            given.setdefault(each.channel_id, each.name)  # as with those that are missing
    ids = sorted(given)
    locked = {row.channel_id: row for row in await tx.lock(channels.locking(tx.realm_id, ids))}
    rows = await subscriptions.in_channels(
        connection,
        tx.realm_id,
        user_ids=sorted({actor.user_id, *principals}),
        channel_ids=ids,
    )
    return _SubscribeDecision(
        actor.user_id,
        context,
        principals,
        [(name, locked[channel_id]) for channel_id, name in given.items()],
        list(missing.values()),
        {(row.user_id, row.channel_id): row for row in rows},
    )


def _sorted_by_permission(
    plan: _SubscribeDecision, actor: Actor
) -> tuple[list[ChannelRow], list[str]]:
    """Return the channels for which the request is permitted, and the names of the others.

    An archived channel takes no subscribers.
    """
    standing = plan.context.standing(actor.user_id)
    adds_others = any(user_id != actor.user_id for user_id in plan.principal_ids)
    allowed, refused = [], []
    for name, channel in plan.existing:
        is_in = plan.is_in(actor.user_id, channel.channel_id)
        permitted = (
            standing.adds_others(channel, subscribed=is_in)
            if adds_others
            else standing.reads(channel, subscribed=is_in)
        )
        if permitted and not channel.is_archived:
            allowed.append(channel)
        else:
            refused.append(name)
    return allowed, refused


def _knows_all(plan: _SubscribeDecision, actor: Actor) -> bool:
    """Return whether the actor may know all of the existing channels."""
    standing = plan.context.standing(actor.user_id)
    return all(
        standing.sees(channel, subscribed=plan.is_in(actor.user_id, channel.channel_id))
        for _, channel in plan.existing
    )


async def _join_first(
    tx: Tx,
    plan: _SubscribeDecision,
    targets: Sequence[ChannelRow],
    notices: Sequence[Notice],
    *,
    pairs_per_step: int = PAIRS_PER_STEP,
    is_looked_up: bool = False,
) -> str | None:
    """Subscribe as many as one transaction should; return the id of the remaining work, if any."""
    joining = [user_id for user_id in plan.principal_ids if plan.joins(user_id, targets)]
    size = people_per_step(len(targets), pairs_per_step)
    now, later = joining[:size], joining[size:]
    change = MembershipChange(
        channels={channel.channel_id: channel for channel in targets},
        people={user_id: plan.context.people[user_id] for user_id in now},
        pairs=[(user_id, i.channel_id) for user_id in now for i in plan.joins(user_id, targets)],
        past=plan.rows,
        chooses_colors=len(joining) <= MAX_CHOOSING,
        is_looked_up=is_looked_up,
        by=plan.actor_id,
    )
    await join(tx, plan.context, change)
    rest = SubscribePlan(
        actor_id=plan.actor_id,
        channel_ids=[channel.channel_id for channel in targets],
        user_ids=later,
        notices=list(notices),
        chooses_colors=change.chooses_colors,
    )
    return await put_off_rest(tx, rest)


def _notices(
    plan: _SubscribeDecision,
    targets: Sequence[ChannelRow],
    created: Sequence[ChannelRow],
    *,
    announce: bool,
    notify: bool,
) -> list[Notice]:
    actor = plan.context.people[plan.actor_id]
    notices = []
    if announce:
        notices += of_new_channels(actor, created, plan.context.settings)
    if notify and len(plan.principal_ids) <= MAX_NOTIFIED_USERS:
        joined = {user_id: plan.joins(user_id, targets) for user_id in plan.principal_ids}
        notices += of_subscriptions(
            actor, joined, plan.context.people, plan.context.settings.language
        )
    return notices
