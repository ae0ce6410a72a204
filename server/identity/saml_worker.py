"""The process that validates SAML responses: untrusted XML with signatures."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec
from typing_extensions import override

from server.domain.clock import SystemClock
from server.domain.providers import SamlProvider
from server.identity.errors import IdentityError
from server.identity.flows import Flow
from server.identity.identity import Identity
from server.runtime.sandbox_worker import serve

MEMORY_BYTES: Final = 1 << 30
CPU_SECONDS: Final = 1.0
"""The limit of processor time; an ordinary response takes a few milliseconds."""


class ValidationRequest(msgspec.Struct, frozen=True):
    """A response from a browser, with everything needed to validate it."""

    provider: SamlProvider
    certificate: str
    key: str
    """Our key for encrypted responses; empty if there is none."""
    flow: Flow
    answer: str
    redirect_uri: str
    now: float


class ValidationOutcome(msgspec.Struct, frozen=True):
    """The identity, or an error: a reason for the log, and a message for users."""

    email: str = ""
    full_name: str = ""
    groups: tuple[str, ...] | None = None
    refusal: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Clock(SystemClock):
    """The clock of the caller."""

    when: float

    @override
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.when, UTC)


def answer(order: ValidationRequest) -> ValidationOutcome:
    """Validate the response."""
    from server.identity.saml import (  # who asks needs no xmlsec for that
        ServiceProviderKey,
        read_answer,
    )

    own = ServiceProviderKey(order.certificate, order.key) if order.key else None
    try:
        found: Identity = read_answer(
            order.provider, own, _Clock(order.now), order.flow, order.answer, order.redirect_uri
        )
    except IdentityError as error:
        return ValidationOutcome(refusal=error.reason, message=error.message)
    return ValidationOutcome(found.email, found.full_name, found.groups)


def main() -> None:
    serve(
        msgspec.msgpack.Decoder(ValidationRequest).decode,
        lambda order: msgspec.msgpack.encode(answer(order)),
        cpu_seconds=lambda _: CPU_SECONDS,
        memory_bytes=MEMORY_BYTES,
    )


if __name__ == "__main__":
    main()
