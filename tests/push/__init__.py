"""Services of push notifications, and what phones are told."""
