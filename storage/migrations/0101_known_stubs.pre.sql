-- Accounts that were imported or erased before this was stored.

UPDATE users u SET stub = 'imported'
 WHERE u.bot_type IS NULL AND u.password_hash IS NULL AND u.email NOT LIKE 'user%@deleted.invalid'
   AND EXISTS (SELECT FROM import_keys k
                WHERE k.realm_id = u.realm_id AND k.kind = 'person' AND k.id = u.user_id)
   AND NOT EXISTS (SELECT FROM sessions s
                    WHERE s.realm_id = u.realm_id AND s.user_id = u.user_id)
   AND NOT EXISTS (SELECT FROM user_activity a
                    WHERE a.realm_id = u.realm_id AND a.user_id = u.user_id);

UPDATE users SET is_deleted = true
 WHERE NOT is_active AND email = format('user%s@deleted.invalid', user_id);
