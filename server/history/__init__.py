"""Read history: pages of messages, narrowed, as their readers may see them."""
