"""What a page for people is given, and how it is declared."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from server.api.endpoint import Access
from server.api.rate_limit import RateLimits
from server.api.reauthentication import Reauthentication
from server.app import App
from server.domain.actor import Actor
from server.domain.errors import DomainError, NotFoundError, UnauthorizedError
from server.domain.sessions import Session
from server.realm_cache import RealmCache
from server.runtime.pages import Page
from server.writer import WriteTx
from storage.ids import RealmId

Result = TypeVar("Result")


@dataclass(slots=True)
class Visit:
    """Somebody asks for a page, or sends its form."""

    app: App
    limits: RateLimits
    method: str
    path: str
    host: str
    remote_address: str
    headers: Mapping[str, str]
    realm_id: RealmId | None
    """None: the server's own address, where organizations have theirs at subdomains."""
    place: Mapping[str, str]
    """What is in the path."""
    query: Mapping[str, str]
    form: Mapping[str, str]
    session: Session | None = None
    caller: Actor | None = None
    """Whoever has signed in."""
    visitor: str | None = None
    """What the cookie of whoever has not signed in holds; there once a form is shown."""
    cookies: list[str] = field(default_factory=list)
    """What the browser is to keep, whatever is answered."""
    limit_headers: dict[str, str] = field(default_factory=dict)

    @property
    def actor(self) -> Actor:
        """Whoever has signed in; on pages that anyone may see there may be nobody."""
        if self.caller is None:
            raise UnauthorizedError("Sign in first.")
        return self.caller

    @property
    def realm_cache(self) -> RealmCache:
        """That of the organization at this address. Raises NotFoundError if there is none."""
        if self.realm_id is None:
            raise NotFoundError("There is no organization at this address.")
        return self.app.realm_caches.of(self.realm_id)

    @property
    def reauthentication(self) -> Reauthentication:
        """How the caller proves anew that they own the account."""
        return Reauthentication(
            self.app,
            self.limits,
            self.actor,
            self.session,
            self.limit_headers,
            self.remote_address,
        )

    async def write(self, action: Callable[[WriteTx], Awaitable[Result]]) -> Result:
        """Let the realm's writer do it. Raises as the action does."""
        return await self.app.writers.of(self.realm_cache.realm_id).write(action)

    def sent(self, name: str) -> str:
        """A field of the form; empty if it was not sent."""
        return self.form.get(name, "")


View = Callable[[Visit], Awaitable[Page]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page, or the form on it: method and path, who may see it, and what shows it.

    Whoever has to sign in for it is asked to, and comes back. Path parameters are written
    `{name}`.
    """

    method: str
    path: str
    access: Access
    view: View
    takes_foreign_forms: bool = False
    """Other sites may send its form: it looks for itself whom it comes from."""
    is_of_server: bool = False
    """It is there too where there is no organization."""
    is_rate_limited: bool = True
    """False for what all pages load."""

    @property
    def full_path(self) -> str:
        return self.path

    @property
    def has_head(self) -> bool:
        return True


class Pages(Protocol):
    """What answers outside the API, where people look."""

    def serves(self, path: str) -> bool:
        """Whether there is a page at this path, for whatever method."""
        ...

    def find(self, method: str, path: str) -> tuple[PageRoute, dict[str, str]]:
        """The page, and what is in its path. Raises a DomainError if there is none."""
        ...

    async def answer(self, route: PageRoute, visit: Visit) -> Page:
        """The page. Raises a DomainError for what has no page of its own."""
        ...

    def refusal(self, error: DomainError) -> Page:
        """The page that tells what is wrong."""
        ...
