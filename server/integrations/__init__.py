"""Incoming webhooks: one module for each service, which turns its payloads into messages.

A module declares an `Integration` with a pure function from a delivery (headers, payload, options)
to an outcome. It knows neither the database nor HTTP, so that it may run in the sandbox.
"""
