"""Set profile fields to what a directory has."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from server.actions.directory_claims import acting_owner
from server.actions.locked_realm import lock_realm
from server.actions.profile_data import Answers, change_data_of, kept_value
from server.domain.errors import BadRequestError
from server.domain.names import fold_name
from server.domain.profile_fields import FieldType, Value, field_data_of
from server.transactions import Tx
from storage import profile_data, profile_fields
from storage.database import Connection
from storage.ids import ProfileFieldId, RealmId, UserId
from storage.profile_data import NO_DATA, ProfileData
from storage.profile_fields import FieldRow

logger = structlog.get_logger(__name__)


Report = Callable[[str, str], None]
"""Takes the name of a field that is not set, and the reason."""


def log_refusal(field: str, reason: str) -> None:
    logger.warning("directory.profile_value_refused", field=field, reason=reason)


def ignore_refusal(field: str, reason: str) -> None:
    """Do nothing: it has been reported before."""
    del field, reason


async def changed_answers(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    values: Mapping[str, str],
    report: Report = log_refusal,
) -> Answers:
    """Return those of the values, by names of fields, that differ from the user's profile.

    An empty one removes the value. Unknown fields, and values that a field cannot have, are
    reported and left out.
    """
    if not values:
        return {}
    fields = await profile_fields.of_realm(connection, realm_id)
    old = (await profile_data.of_users(connection, realm_id, [user_id])).get(user_id, NO_DATA)
    return differing_answers(fields, old, values, report)


def differing_answers(
    fields: Sequence[FieldRow], old: ProfileData, values: Mapping[str, str], report: Report
) -> Answers:
    """Return the same, of fields and a profile that have been read."""
    by_name = {fold_name(field.name): field for field in fields}
    answers: dict[ProfileFieldId, Value | None] = {}
    for name, value in values.items():
        field = by_name.get(fold_name(name))
        if field is None:
            report(name, "there is no such field")
            continue
        try:
            answer = _answer(field, value)
            kept = kept_value(field, answer)
        except BadRequestError as error:
            report(name, error.message)
            continue
        if kept != old.get(field.field_id):
            answers[field.field_id] = answer
    return answers


async def follow_profile(tx: Tx, user_id: UserId, values: Mapping[str, str]) -> None:
    """Set the profile's fields of these names, on behalf of an owner. Raises BadRequestError."""
    await lock_realm(tx, alone=True)
    connection = await tx.connection()
    actor = await acting_owner(tx, user_id)
    answers = await changed_answers(connection, tx.realm_id, user_id, values, ignore_refusal)
    if answers and actor is not None:
        await change_data_of(tx, actor, user_id, answers)


def _answer(field: FieldRow, value: str) -> str:
    """Return the value in the form of the field: of choices, the one with this text."""
    if field.field_type != FieldType.SELECT or not value:
        return value
    options = field_data_of(field.field_data).items()
    found = [key for key, option in options if fold_name(option["text"]) == fold_name(value)]
    return found[0] if found else value
