"""Invitations to join a realm, by email or by link."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.address_folding import fold_address
from storage.database import Connection, Locking
from storage.ids import ChannelId, GroupId, InvitationId, RealmId, UserId

MAX_TOKENS = 10
"""Maximum number of valid tokens of one invitation: those of its last emails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationTerms:
    """Inviter, role, channels and groups of an invitation."""

    inviter_id: UserId
    role: int
    channel_ids: Sequence[ChannelId]
    group_ids: Sequence[GroupId]
    includes_defaults: bool
    """Whether they join the default channels, too."""
    welcome_text: str | None
    """Text added by the welcome bot; None for the realm's default."""
    tells_inviter: bool
    ends_at: datetime | None
    """None: never expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow(InvitationTerms):
    invitation_id: InvitationId
    email: str | None
    """None for a link that can be used by any number of people."""
    by_link: InvitationId | None
    """The link by which the invitation was requested."""
    invited_at: datetime
    state: str
    """`open`, `accepted` or `revoked`."""
    token_digests: Sequence[bytes]
    mails: int

    def is_over(self, now: datetime) -> bool:
        return self.ends_at is not None and self.ends_at <= now


_SELECT: LiteralString = """
    SELECT invitation_id, inviter_id, email, by_link, role, channel_ids, group_ids,
           includes_defaults, welcome_text, tells_inviter, invited_at, ends_at, state,
           token_digests, mails
      FROM invitations """


async def insert(
    connection: Connection,
    realm_id: RealmId,
    terms: InvitationTerms,
    emails: Sequence[str | None],
    *,
    now: datetime,
    by_link: InvitationId | None = None,
) -> list[InvitationId]:
    """Insert an invitation for each address, or a link for None.

    Return the ids in the same order.
    """
    return await connection.values(
        """
        INSERT INTO invitations (realm_id, inviter_id, email, folded_email, by_link, role,
                                 channel_ids, group_ids, includes_defaults, welcome_text,
                                 tells_inviter, invited_at, ends_at, mails, mailed_at)
        SELECT %(realm_id)s, %(inviter_id)s, email, folding, %(by_link)s, %(role)s,
               %(channel_ids)s::bigint[], %(group_ids)s::bigint[], %(includes_defaults)s,
               %(welcome_text)s, %(tells_inviter)s, %(now)s, %(ends_at)s,
               (email IS NOT NULL)::integer, CASE WHEN email IS NOT NULL THEN %(now)s END
          FROM unnest(%(emails)s::text[], %(foldings)s::text[])
               WITH ORDINALITY AS e(email, folding, place)
         ORDER BY place
        RETURNING invitation_id
        """,
        realm_id=realm_id,
        inviter_id=terms.inviter_id,
        by_link=by_link,
        role=terms.role,
        channel_ids=list(terms.channel_ids),
        group_ids=list(terms.group_ids),
        includes_defaults=terms.includes_defaults,
        welcome_text=terms.welcome_text,
        tells_inviter=terms.tells_inviter,
        now=now,
        ends_at=terms.ends_at,
        emails=list(emails),
        foldings=[None if email is None else fold_address(email) for email in emails],
    )


async def open_ones(
    connection: Connection, realm_id: RealmId, *, now: datetime, of_inviter: UserId | None = None
) -> list[InvitationRow]:
    """Return the open invitations, of one inviter or of all; newest first.

    Those requested by a link are excluded.
    """
    return await connection.many(
        InvitationRow,
        _SELECT
        + """
         WHERE realm_id = %(realm_id)s AND state = 'open' AND by_link IS NULL
           AND (ends_at IS NULL OR ends_at > %(now)s)
           AND (%(inviter_id)s::bigint IS NULL OR inviter_id = %(inviter_id)s)
         ORDER BY invitation_id DESC
        """,
        realm_id=realm_id,
        now=now,
        inviter_id=of_inviter,
    )


async def open_of_email(
    connection: Connection, realm_id: RealmId, email: str, *, now: datetime
) -> list[InvitationId]:
    """Return the open invitations to this address, newest first."""
    return await connection.values(
        """
        SELECT invitation_id FROM invitations
         WHERE realm_id = %(realm_id)s AND state = 'open'
           AND (folded_email = %(folding)s OR (folded_email IS NULL AND email = %(email)s))
           AND (ends_at IS NULL OR ends_at > %(now)s)
         ORDER BY invitation_id DESC
        """,
        realm_id=realm_id,
        email=email,
        folding=fold_address(email),
        now=now,
    )


async def by_id(
    connection: Connection, realm_id: RealmId, invitation_id: InvitationId
) -> InvitationRow | None:
    return await connection.one(
        InvitationRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND invitation_id = %(id)s",
        realm_id=realm_id,
        id=invitation_id,
    )


async def open_of_inviters(
    connection: Connection, realm_id: RealmId, inviter_ids: Sequence[UserId]
) -> list[InvitationRow]:
    """Return the open invitations of these inviters, those requested by a link included."""
    return await connection.many(
        InvitationRow,
        _SELECT
        + """
         WHERE realm_id = %(realm_id)s AND state = 'open' AND inviter_id = ANY(%(inviter_ids)s)
         ORDER BY invitation_id
        """,
        realm_id=realm_id,
        inviter_ids=list(inviter_ids),
    )


def locking_all(
    realm_id: RealmId, invitation_ids: Sequence[InvitationId]
) -> Locking[InvitationRow]:
    """Return the query that locks several invitations, in the order of their ids."""
    return Locking(
        InvitationRow,
        _SELECT
        + "WHERE realm_id = %(realm_id)s AND invitation_id = ANY(%(ids)s) ORDER BY invitation_id",
        {"realm_id": realm_id, "ids": list(invitation_ids)},
        expected=len(invitation_ids),
    )


def locking(realm_id: RealmId, invitation_id: InvitationId) -> Locking[InvitationRow]:
    return Locking(
        InvitationRow,
        _SELECT + "WHERE realm_id = %(realm_id)s AND invitation_id = %(id)s",
        {"realm_id": realm_id, "id": invitation_id},
        expected=1,
    )


async def mailed_since(connection: Connection, realm_id: RealmId, since: datetime) -> int:
    """Return how many invitation emails of members were sent since then."""
    count: int = await connection.value(
        """
        SELECT coalesce(sum(mails), 0) FROM invitations
         WHERE realm_id = %(realm_id)s AND mailed_at > %(since)s AND by_link IS NULL
        """,
        realm_id=realm_id,
        since=since,
    )
    return count


async def mail_again(
    connection: Connection,
    realm_id: RealmId,
    invitation_id: InvitationId,
    *,
    since: datetime,
    now: datetime,
) -> None:
    """Record another email of a locked invitation; emails before `since` no longer count."""
    await connection.execute(
        """
        UPDATE invitations
           SET mails = CASE WHEN mailed_at > %(since)s THEN mails ELSE 0 END + 1,
               mailed_at = %(now)s
         WHERE realm_id = %(realm_id)s AND invitation_id = %(id)s
        """,
        realm_id=realm_id,
        id=invitation_id,
        since=since,
        now=now,
    )


async def add_token(
    connection: Connection, realm_id: RealmId, invitation_id: InvitationId, digest: bytes
) -> None:
    """Store the digest of a token for the invitation; delete the oldest beyond MAX_TOKENS."""
    await connection.execute(
        """
        UPDATE invitations
           SET token_digests = (ARRAY[%(digest)s::bytea] || token_digests)[:%(most)s]
         WHERE realm_id = %(realm_id)s AND invitation_id = %(id)s
        """,
        realm_id=realm_id,
        id=invitation_id,
        digest=digest,
        most=MAX_TOKENS,
    )


async def end(
    connection: Connection, realm_id: RealmId, invitation_id: InvitationId, *, state: str
) -> None:
    """Mark a locked invitation as accepted or revoked, and forget its address.

    Its tokens still open the page that says so.
    """
    await connection.execute(
        """
        UPDATE invitations
           SET state = %(state)s, email = CASE WHEN email IS NOT NULL THEN '' END
         WHERE realm_id = %(realm_id)s AND invitation_id = %(id)s
        """,
        realm_id=realm_id,
        id=invitation_id,
        state=state,
    )


async def end_of_email(
    connection: Connection, realm_id: RealmId, email: str
) -> list[InvitationRow]:
    """Mark all invitations to this address as accepted; return them."""
    return await connection.many(
        InvitationRow,
        """
        UPDATE invitations SET state = 'accepted', email = ''
         WHERE realm_id = %(realm_id)s AND state = 'open'
           AND (folded_email = %(folding)s OR (folded_email IS NULL AND email = %(email)s))
        RETURNING invitation_id, inviter_id, email, by_link, role, channel_ids, group_ids,
                  includes_defaults, welcome_text, tells_inviter, invited_at, ends_at, state,
                  token_digests, mails
        """,
        realm_id=realm_id,
        email=email,
        folding=fold_address(email),
    )


async def forget(connection: Connection, realm_id: RealmId, *, before: datetime) -> None:
    """Delete invitations that ended before then and were mailed before it."""
    await connection.execute(
        """
        DELETE FROM invitations
         WHERE realm_id = %(realm_id)s AND invited_at < %(before)s
           AND (mailed_at IS NULL OR mailed_at < %(before)s)
           AND (state <> 'open' OR ends_at < %(before)s)
        """,
        realm_id=realm_id,
        before=before,
    )
