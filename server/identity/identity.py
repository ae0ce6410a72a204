"""The interface of identity providers, and the identities that they assert."""

from dataclasses import dataclass
from typing import Protocol

from server.identity.flows import Flow


@dataclass(frozen=True, slots=True)
class Identity:
    """An asserted identity, with a verified address."""

    email: str
    full_name: str
    groups: tuple[str, ...] | None = None
    """Names of the user's groups there; None if the provider asserts none, not even an empty list.
    """


class OtherSite(Protocol):
    """A provider to which browsers are redirected, of any protocol."""

    @property
    def posts_back(self) -> bool:
        """Whether the response is a form POST rather than a redirect."""
        ...

    @property
    def state_field(self) -> str:
        """The field of the response with the flow's state."""
        ...

    @property
    def answer_field(self) -> str:
        """The field of the response with the code or assertion."""
        ...

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to. Raises IdentityError."""
        ...

    async def identify(self, flow: Flow, answer: str, redirect_uri: str) -> Identity:
        """Return the identity that the response asserts. Raises IdentityError."""
        ...

    def metadata(self, redirect_uri: str) -> bytes | None:
        """Return the metadata of this server for the provider; None if it reads none."""
        ...
