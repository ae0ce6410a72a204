"""The embedded Postgres of the one-command start: in the data directory, on a unix socket."""

from storage.embedded.errors import EmbeddedError
from storage.embedded.server import EmbeddedPostgres, embedded_postgres, has_cluster, running_url

__all__ = ["EmbeddedError", "EmbeddedPostgres", "embedded_postgres", "has_cluster", "running_url"]
