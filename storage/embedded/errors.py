"""What keeps the private Postgres from running."""


class EmbeddedError(Exception):
    """The private Postgres cannot run; the message is one sentence that says what to do."""
