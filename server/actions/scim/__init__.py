"""Changes that a directory makes (SCIM), and what owners allow it."""
