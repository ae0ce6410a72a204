"""Process uploaded pictures in a separate process with a timeout."""
