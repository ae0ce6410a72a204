"""Push notifications: their payloads, and the services that deliver them to devices."""
