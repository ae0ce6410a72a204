"""Who may see or read what has changed: the diff, its events and read state, and the audiences."""
