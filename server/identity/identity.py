"""What providers and directories assert, and the interface of a provider."""

from dataclasses import dataclass
from typing import Protocol

from server.identity.flows import Flow


@dataclass(frozen=True, slots=True)
class Identity:
    """An asserted identity. The address is verified."""

    email: str
    full_name: str


class OtherSite(Protocol):
    """An identity provider, whatever its protocol."""

    @property
    def posts_back(self) -> bool:
        """Whether it responds by a form post, and not by a redirect."""
        ...

    @property
    def state_field(self) -> str:
        """Return the field of the response with the flow's state."""
        ...

    @property
    def answer_field(self) -> str:
        """Return the field of the response itself."""
        ...

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to. Raises IdentityError."""
        ...

    async def identify(self, flow: Flow, answer: str, redirect_uri: str) -> Identity:
        """Return the identity in this response. Raises IdentityError."""
        ...

    def metadata(self, redirect_uri: str) -> bytes | None:
        """Return the metadata of this server for the provider; None if it reads none."""
        ...
