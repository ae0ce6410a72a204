"""Names of connections, for operators: in `pg_stat_activity` and in RabbitMQ's management."""

_process = "parley"


def name_process(command: str) -> None:
    """Set what this process is: the command that runs it, such as `worker`."""
    global _process  # noqa: PLW0603 - one per process
    _process = f"parley-{command}"


def connection_name(purpose: str) -> str:
    """Return the name of a connection of this process, such as `parley-worker: pool`.

    Postgres gets it as `fallback_application_name`, so DATABASE_URL may say otherwise.
    """
    return f"{_process}: {purpose}"
