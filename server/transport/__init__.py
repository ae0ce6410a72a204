"""Who owns the sockets: a server of our own, or Tornado's. What is above knows only exchanges."""
