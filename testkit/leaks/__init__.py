"""The leak oracle: who may see what through random histories, beside what the server shows."""
