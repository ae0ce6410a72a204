-- Services sign what they send to a bot with a secret; NULL: unsigned deliveries are accepted.
ALTER TABLE users ADD COLUMN webhook_secret text;
