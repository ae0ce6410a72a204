"""Telemetry of a process: logs, metrics, and an overview of the installation."""
