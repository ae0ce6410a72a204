"""Push notifications: what phones are told, and the services that tell them."""
