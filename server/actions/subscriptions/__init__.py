"""Subscribe and unsubscribe users."""
