"""A long run with faults, imports, exports and webhooks: what grows, and what is left behind."""
