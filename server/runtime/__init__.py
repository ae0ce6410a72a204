"""Runtime support: scheduling, timers, sandboxed workers, sockets, templates."""
