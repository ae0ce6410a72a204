-- A bot never has a higher role than its owner, and never an owner's.
UPDATE users bot
   SET role = greatest(bot.role, 200, (SELECT owner.role FROM users owner
                                        WHERE owner.realm_id = bot.realm_id
                                          AND owner.user_id = bot.bot_owner_id))
 WHERE bot.bot_type IS NOT NULL AND NOT bot.is_system_bot;
