"""Mail that goes out: what it says, and how it gets to a mail server."""
