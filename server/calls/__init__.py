"""Clients of the services that create calls."""
