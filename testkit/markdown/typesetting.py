"""The work of the typesetting process, done here: for tests of what comes of it."""

from typing import Final

from typing_extensions import override

from server.domain.markdown import Rendered, render
from server.domain.markdown.typesetting import PlainTypesetter, Typeset, TypesetJob
from server.typesetting import worker
from server.typesetting.process import delivered
from server.typesetting.wire import TypesetRequest
from testkit.markdown.realm import STYLE, Realm

MANY: Final = 20


class TypesetterHere(PlainTypesetter):
    """Without a deadline: for sources that are known to be harmless, or short."""

    @override
    def known(self, job: TypesetJob) -> Typeset | None:
        # Two more that nothing closes, and the formula takes twice as long.
        if job.kind != "code" and sum(map(job.text.count, "([")) > MANY:
            return None
        return delivered(worker.deliver(TypesetRequest(job.kind, job.text, job.language, 0)))


def typeset_here(source: str, realm: Realm | None = None) -> Rendered:
    """The message with everything on: emoji, linkifiers, pictures, code in colours, formulas."""
    return render(source, realm or Realm(), STYLE, TypesetterHere())
