"""What any part of a process runs on: scheduling, timers, sandboxed workers, sockets, templates."""
