"""Who has been asked to join an organization."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.address_folding import fold_address
from storage.database import Connection, Locking
from storage.ids import ChannelId, GroupId, InvitationId, RealmId, UserId

MAX_TOKENS = 10
"""Of one invitation that work: those of its last mails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What somebody is asked to join as, and by whom."""

    inviter_id: UserId
    role: int
    channel_ids: Sequence[ChannelId]
    group_ids: Sequence[GroupId]
    includes_defaults: bool
    """They join the default channels, too."""
    welcome_text: str | None
    """What the welcome bot adds; None: what the organization has for that."""
    tells_inviter: bool
    ends_at: datetime | None
    """None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow(Terms):
    invitation_id: InvitationId
    email: str | None
    """None: a link that anybody may use who has it."""
    by_link: InvitationId | None
    """The link by which somebody has asked for this one themselves."""
    invited_at: datetime
    state: str
    """open, accepted or revoked."""
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
    terms: Terms,
    emails: Sequence[str | None],
    *,
    now: datetime,
    by_link: InvitationId | None = None,
) -> list[InvitationId]:
    """Return an invitation for each address, or a link for None; in the same order."""
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
    """Return those that can still be taken up, of one inviter or of all; the newest first.

    What people have asked for themselves by a link is none of them.
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
    """Those that ask whoever has this address to join, and can still be taken up; newest first."""
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
    """The open invitations of these inviters, those included that people requested by a link."""
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
    """Lock several invitations, in the order of their ids."""
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
    """Return how many invitations members have had mailed since then."""
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
    """A locked one is mailed once more; mails before `since` no longer count."""
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
    """Whoever holds the token of this digest may take it up; the oldest beyond MAX_TOKENS go."""
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
    """A locked one has been accepted, or revoked. What opened it still opens the news of that.

    For whom it was is forgotten.
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
    """Whoever has this address is in: all that asked them to join is taken up with it."""
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
    """Those that ended before then, one way or another, and were mailed before it, go."""
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
