"""What other sites and directories say of somebody, and how a site is asked."""

from dataclasses import dataclass
from typing import Protocol

from server.identity.flows import Flow


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom it says somebody is. The address is theirs."""

    email: str
    full_name: str


class OtherSite(Protocol):
    """A site where people sign in, whatever it speaks."""

    @property
    def posts_back(self) -> bool:
        """Whether it answers with a form of its own, and not by the address."""
        ...

    @property
    def state_field(self) -> str:
        """In which field of what comes back the flow's state is."""
        ...

    @property
    def answer_field(self) -> str:
        """In which field the answer is."""
        ...

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return where the browser goes. Raises IdentityError."""
        ...

    async def identify(self, flow: Flow, answer: str, redirect_uri: str) -> Identity:
        """Who has come back with this answer. Raises IdentityError."""
        ...

    def metadata(self, redirect_uri: str) -> bytes | None:
        """Return what it reads to know this server; None if it reads no such thing."""
        ...
