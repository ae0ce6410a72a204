-- When a message came to its channel from another. NULL: it was sent there, or came before this was kept.
ALTER TABLE messages ADD COLUMN entered_at bigint;
