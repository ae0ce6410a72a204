"""Requests that show each operation of the API at work: the examples of its documentation."""
