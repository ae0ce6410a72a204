-- When an account's credentials changed last: what was begun before counts no more.
ALTER TABLE users ADD COLUMN credentials_changed_at timestamptz;

-- What stands in an export's link instead of its blob's own secret once links were renewed.
ALTER TABLE realm_exports ADD COLUMN link_secret text;
