"""Errors of the private Postgres."""


class EmbeddedError(Exception):
    """The private Postgres cannot run; the message is one sentence that says what to do."""
