"""Parse untrusted content in separate processes with a timeout."""
