-- The picture that somebody has given themselves: the key of its content. Where a picture is from is
-- known by whether there is one, so nothing reads avatar_source any more.
ALTER TABLE users ADD COLUMN avatar_key text;
