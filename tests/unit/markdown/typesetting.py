"""The work of the typesetting process, done here: for tests of what comes of it."""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from server.domain.markdown import Rendered, Typesetter, typeset
from server.domain.markdown.typesetting import Typeset, TypesetJob
from server.typesetting import worker
from server.typesetting.process import delivered
from server.typesetting.wire import Order
from tests.unit.markdown.realm import STYLE, Realm

Result = TypeVar("Result")


class TypesetterHere(Typesetter):
    """Without a deadline: for sources that are known to be harmless, or short."""

    @override
    async def set(self, jobs: Sequence[TypesetJob]) -> Sequence[Typeset | None]:
        orders = [Order(job.kind, job.text, job.language, 0) for job in jobs]
        return [delivered(worker.deliver(order)) for order in orders]


def typeset_here(source: str, realm: Realm | None = None) -> Rendered:
    """The message with everything on: emoji, linkifiers, pictures, code in colours, formulas."""
    return at_once(typeset(source, realm or Realm(), STYLE, TypesetterHere()))


def at_once(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of something that does not wait."""
    try:
        work.send(None)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    raise AssertionError("it waits")
