"""Parameter with values of custom profile fields."""

from collections.abc import Sequence

from server.actions.profile_data import Answers
from server.api.params import Part
from storage.ids import ProfileFieldId


class AnswerParam(Part):
    id: int
    """Id of the custom profile field."""
    value: str | list[int] | None
    """The answer: text, for fields of the type users a list of user ids; null removes it."""


def answers_of(given: Sequence[AnswerParam]) -> Answers:
    """Return the values by field; of two for one field the last wins."""
    return {ProfileFieldId(each.id): each.value for each in given}
