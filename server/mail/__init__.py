"""Outgoing and incoming email: content, and delivery to a mail server."""
