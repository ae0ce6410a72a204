"""Channels come, change and go."""
