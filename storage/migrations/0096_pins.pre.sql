-- When a topic was pinned in its channel. Pinned messages have a bit (storage/message_bits.py).
ALTER TABLE topics ADD COLUMN pinned_at timestamptz;
