"""The leak oracle: random histories, compared with a model of who may see what."""
