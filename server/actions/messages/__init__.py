"""Send, edit, move and delete messages."""
