"""How pages of the site are declared, and what serves them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from server.api.endpoint import Access, Request
from server.domain.errors import DomainError
from server.runtime.pages import Page

Result = TypeVar("Result")


View = Callable[[Request], Awaitable[Page]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page, or the form on it: method, path, access, and the function that renders it.

    A visitor without the session that it requires is sent to the sign-in page, and back afterwards.
    Path parameters are written `{name}`.
    """

    method: str
    path: str
    access: Access
    view: View
    takes_foreign_forms: bool = False
    """Accepts forms of other sites: the view verifies itself where they come from."""
    is_of_server: bool = False
    """Exists without an organization, too."""
    is_rate_limited: bool = True
    """False for files that are the same for all visitors: no session is looked up for them."""

    @property
    def full_path(self) -> str:
        return self.path

    @property
    def has_head(self) -> bool:
        return True


class Pages(Protocol):
    """The site: every page outside the API."""

    def serves(self, path: str) -> bool:
        """Whether there is a page at this path, for any method."""
        ...

    def find(self, method: str, path: str) -> tuple[PageRoute, dict[str, str]]:
        """The route and its path parameters. Raises a DomainError if there is none."""
        ...

    async def answer(self, route: PageRoute, request: Request) -> Page:
        """Check access and render. Raises a DomainError for errors without a page of their own."""
        ...

    def refusal(self, error: DomainError, language: str) -> Page:
        """The page that shows the error, in the language."""
        ...
