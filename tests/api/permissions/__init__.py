"""Who may do what: worlds, and what the protocol says of each endpoint."""
