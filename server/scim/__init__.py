"""The SCIM 2.0 service (RFC 7643, RFC 7644), by which directories manage accounts and groups."""
