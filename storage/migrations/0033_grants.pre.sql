-- What the operator lets single administrators do.
ALTER TABLE users ADD COLUMN can_create_users boolean NOT NULL DEFAULT false;
