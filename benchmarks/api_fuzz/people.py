"""Accounts that make requests; a deactivated account is replaced."""

import secrets
from typing import Any

import psycopg

from benchmarks.api_fuzz.requests import authorization

ROLES = {"owner": 100, "member": 400, "guest": 600, "bot": 400}
ANONYMOUS = "anonymous"
KINDS = (*ROLES, ANONYMOUS)
WEIGHTS = (35, 30, 12, 13, 10)
LOST = frozenset({"UNAUTHORIZED", "INVALID_API_KEY", "USER_DEACTIVATED"})
"""The error codes of a deactivated account, or of one with another key."""

INSERT = """
    INSERT INTO users (user_id, realm_id, email, full_name, role, api_key, date_joined, bot_type,
                       bot_owner_id)
    SELECT nextval('user_ids'), %(realm_id)s, %(email)s, %(name)s, %(role)s, %(key)s, now(),
           %(bot_type)s, %(owner)s
    RETURNING user_id
"""


class People:
    """One account of each kind, inserted behind the server's back: it caches no new account."""

    def __init__(self, database: psycopg.Connection[Any]) -> None:
        self._database = database
        [self._realm_id] = database.execute("SELECT min(realm_id) FROM realms").fetchone() or [0]
        self._count = 0
        self._headers: dict[str, dict[str, str]] = {ANONYMOUS: {}}
        self._owner_id: int | None = None
        self.ids: dict[str, int] = {}
        self.emails: dict[str, str] = {}
        for kind in ROLES:
            self.renew(kind)

    def headers(self, kind: str) -> dict[str, str]:
        return self._headers[kind]

    def renew(self, kind: str) -> None:
        """Replace the account of this kind by a new one."""
        self._count += 1
        email, key = f"fuzz{self._count}@example.com", secrets.token_hex(16)
        row = self._database.execute(
            INSERT,
            {
                "realm_id": self._realm_id,
                "email": email,
                "name": f"{kind.capitalize()} {self._count}",
                "role": ROLES[kind],
                "key": key,
                "bot_type": 1 if kind == "bot" else None,
                "owner": self.ids.get("owner") if kind == "bot" else None,
            },
        ).fetchone()
        assert row is not None
        self.ids[kind], self.emails[kind] = row[0], email
        self._headers[kind] = authorization(email, key)
