"""Responses that name parameters which the endpoint does not know."""

from typing_extensions import override

from server.api.endpoint import DeferredResponse, RawResult, ResponseSink
from server.api.envelopes import success_body
from server.domain.errors import DomainError


class NamingUnknown(DeferredResponse):
    """Adds the names of unknown parameters to a deferred response."""

    def __init__(self, later: DeferredResponse, unknown: list[str]) -> None:
        self._later = later
        self._unknown = unknown

    @override
    def deliver_to(self, sink: ResponseSink) -> None:
        self._sink = sink
        self._later.deliver_to(self)

    @override
    def give_up(self) -> None:
        self._later.give_up()

    def deliver(self, body: bytes) -> None:
        self._sink.deliver(success_body(RawResult(body), self._unknown))

    def fail(self, refusal: DomainError) -> None:
        self._sink.fail(refusal)
