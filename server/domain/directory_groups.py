"""Groups that an identity provider or a directory asserts, mapped to user groups and roles."""

import base64
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from typing_extensions import override

from server.domain.access import ROLE_NAMES
from server.domain.descriptions import DescriptionError, called, one_of

MAX_ASSERTED_GROUPS: Final = 1_000
"""Of a user with more groups none is believed: which of them are missing is not known."""
_ATTRIBUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9;-]*")

MAX_NAMES_LENGTH: Final = 2_000
"""Of user groups in a link, in characters."""


class Claims(msgspec.Struct, frozen=True, array_like=True):
    """What a provider's groups mean for a user here."""

    managed: frozenset[str]
    """Names of all user groups that the mapping fills: others stay as they are."""
    groups: frozenset[str]
    """Names of those that the user is in."""
    role: int | None
    """The highest of the mapped roles; None leaves the user's as it is."""


class VouchedClaims(msgspec.Struct, frozen=True, array_like=True):
    """What a provider has asserted of a user who is yet to create the account."""

    provider: str
    claims: Claims

    def added_to(self, token: str) -> str:
        """Return the token of a confirmation with these claims in it.

        Its digest is stored, so that the holder can change nothing. Groups that would make it too
        long for an address are left out, until the next sign-in.
        """
        kept = msgspec.structs.replace(self.claims, managed=self.claims.groups)
        if sum(map(len, kept.groups)) > MAX_NAMES_LENGTH:
            kept = msgspec.structs.replace(kept, managed=frozenset(), groups=frozenset())
        content = msgspec.msgpack.encode(VouchedClaims(self.provider, kept))
        return f"{token}.{base64.urlsafe_b64encode(content).rstrip(b'=').decode()}"

    @classmethod
    def of_token(cls, token: str) -> "VouchedClaims | None":
        """Return the claims in the token of a confirmation. The caller has compared its digest."""
        content = token.partition(".")[2]
        if not content:
            return None
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(f"{content}=="), type=cls)


@dataclass(frozen=True, slots=True)
class GroupMapping:
    """A provider's groups, and what they are here."""

    groups: Mapping[str, str]
    roles: Mapping[str, int]
    fold: Callable[[str], str]
    """Returns a group's name in the form in which the provider compares names, as the keys are."""

    @classmethod
    def of(
        cls,
        groups: Mapping[str, str],
        roles: Mapping[str, int],
        fold: Callable[[str], str] = str,
    ) -> "GroupMapping":
        return cls(
            {fold(name): group for name, group in groups.items()},
            {fold(name): role for name, role in roles.items()},
            fold,
        )

    def __bool__(self) -> bool:
        return bool(self.groups or self.roles)

    def claims(self, asserted: Collection[str] | None) -> Claims | None:
        """Return what these groups mean here.

        None if nothing follows from them: the provider has asserted none, not even an empty list,
        or too many, or nothing is mapped.
        """
        if not self or asserted is None or len(asserted) > MAX_ASSERTED_GROUPS:
            return None
        names = set(map(self.fold, asserted))
        return Claims(
            managed=frozenset(self.groups.values()),
            groups=frozenset(self.groups[name] for name in names if name in self.groups),
            role=min((self.roles[name] for name in names if name in self.roles), default=None),
        )


class GroupTable:
    """User groups by the names of a directory's groups; from a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        self.by_name = _texts_in(given)

    @override
    def __repr__(self) -> str:
        return f"GroupTable({self.by_name!r})"


class RoleTable:
    """Roles by the names of a directory's groups; from a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        self.by_name = {name: role_called(role) for name, role in _texts_in(given).items()}

    @override
    def __repr__(self) -> str:
        return f"RoleTable({self.by_name!r})"


class ProfileTable:
    """Names of profile fields by a directory's attributes; from a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        self.by_name = _texts_in(given)
        for name in self.by_name:
            if _ATTRIBUTE.fullmatch(name) is None:
                raise DescriptionError(f"{called(name)} is no attribute")

    @override
    def __repr__(self) -> str:
        return f"ProfileTable({self.by_name!r})"


def role_called(name: str) -> int:
    """Return the role of this name. Raises DescriptionError."""
    role = ROLE_NAMES.get(name)
    if role is None:
        raise DescriptionError(f"{called(name)} is no role: it {one_of(ROLE_NAMES)}")
    return role


def _texts_in(given: object) -> dict[str, str]:
    """Return the table of texts. Raises DescriptionError."""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given) if given else {}
        except (ValueError, RecursionError):
            raise DescriptionError("it is not JSON") from None
    table: Any = given
    if not isinstance(table, dict) or not all(
        name and isinstance(text, str) and text for name, text in table.items()
    ):
        raise DescriptionError("it is not a table of texts")
    return table
