"""Sign-in through identity providers, LDAP directories and JSON Web Tokens."""
