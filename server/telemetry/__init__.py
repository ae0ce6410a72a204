"""What a process reports about itself: logs, metrics, and an overview of the installation."""
