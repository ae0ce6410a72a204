"""Event of changed alert words."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from typing_extensions import override

from server.events.base import Event
from server.realm_cache import ALERT_WORDS

_TOUCHED: Final = (ALERT_WORDS,)


class AlertWordsChanged(Event, frozen=True, kw_only=True):
    """All alert words of a user, delivered to this user."""

    kind: ClassVar[str] = "alert_words"
    wire_type: ClassVar[str] = "alert_words"

    type: Literal["alert_words"] = "alert_words"
    alert_words: list[str]

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return _TOUCHED
