"""Change a user's alert words."""

from collections.abc import Sequence

from server.domain.actor import Actor
from server.domain.alert_words import MAX_WORDS, clean_words
from server.domain.errors import BadRequestError
from server.events.alert_words import AlertWordsChanged
from server.events.base import to_users
from server.i18n import _
from server.transactions import Tx
from storage import alert_words, users


async def add_alert_words(tx: Tx, actor: Actor, words: Sequence[str]) -> list[str]:
    """Add the words that the actor does not have; return all words after that."""
    wanted = clean_words(words)
    known = await _lock(tx, actor)
    has = {word.casefold() for word in known}
    new = [word for word in wanted if word.casefold() not in has]
    if len(known) + len(new) > MAX_WORDS:
        raise BadRequestError(_("Too many alert words (limit: {limit})", limit=MAX_WORDS))
    if not new:
        return known
    await alert_words.insert(await tx.changing(), tx.realm_id, actor.user_id, new)
    return await _append_alert_words(tx, actor)


async def remove_alert_words(tx: Tx, actor: Actor, words: Sequence[str]) -> list[str]:
    """Remove these words, regardless of case; return all words after that."""
    unwanted = {word.casefold() for word in clean_words(words)}
    known = await _lock(tx, actor)
    gone = [word for word in known if word.casefold() in unwanted]
    if not gone:
        return known
    await alert_words.delete(await tx.changing(), tx.realm_id, actor.user_id, gone)
    return await _append_alert_words(tx, actor)


async def _lock(tx: Tx, actor: Actor) -> list[str]:
    """Lock the actor's row, which guards the words; return the words."""
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    return await alert_words.of_user(await tx.connection(), tx.realm_id, actor.user_id)


async def _append_alert_words(tx: Tx, actor: Actor) -> list[str]:
    now = await alert_words.of_user(await tx.connection(), tx.realm_id, actor.user_id)
    tx.append(AlertWordsChanged(alert_words=now), to_users(actor.user_id))
    return now
