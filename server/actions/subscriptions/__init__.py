"""Who is subscribed to which channel."""
