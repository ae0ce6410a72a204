"""The statements that a connection has prepared: those that are run often, and few of them."""

from collections import OrderedDict
from typing import Final, NamedTuple

PREPARED_AFTER: Final = 2
MAX_PREPARED: Final = 100
"""Maximum number of prepared statements per connection; the least recently used is evicted."""


class StatementPlan(NamedTuple):
    """A prepared plan: one for each statement and set of parameter types."""

    text: bytes
    types: tuple[int, ...]


class Plans:
    """The statements that a connection has prepared, or counted."""

    def __init__(self, prefix: str) -> None:
        """Create the register.

        `prefix` starts the names, to keep them apart from other sessions'.
        """
        self._prefix = prefix.encode()
        self.after = PREPARED_AFTER
        """A statement that has run so often is prepared when it is run again."""
        self._asked: OrderedDict[StatementPlan, int] = OrderedDict()
        self._names: OrderedDict[StatementPlan, bytes] = OrderedDict()
        self._count = 0

    def name_of(self, plan: StatementPlan) -> bytes | None:
        """Return the name under which it is prepared."""
        name = self._names.get(plan)
        if name is not None:
            self._names.move_to_end(plan)
        return name

    def new_name_of(self, plan: StatementPlan) -> bytes | None:
        """Return the name for preparing it now; None if it has not been run often enough."""
        times = self._asked.pop(plan, 0)
        if times < self.after:
            self._asked[plan] = times + 1
            if len(self._asked) > MAX_PREPARED:
                self._asked.popitem(last=False)
            return None
        self._count += 1
        name = self._names[plan] = b"parley_%b_%d" % (self._prefix, self._count)
        return name

    def excess(self) -> bytes | None:
        """Return the name of a statement to be evicted."""
        return self._names.popitem(last=False)[1] if len(self._names) > MAX_PREPARED else None

    def forget(self, plan: StatementPlan) -> None:
        """Remove a statement that could not be prepared."""
        self._names.pop(plan, None)
