"""Sending, and what else happens to messages."""
