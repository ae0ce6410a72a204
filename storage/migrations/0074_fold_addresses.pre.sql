-- Accounts are found by the folding of their address (storage/address_folding.py): the local part
-- composed and in lower case, the domain as A-labels. The server computes it. What an older release
-- writes gets its folding here if it is ASCII; SQL knows nothing of IDNA, so other addresses have
-- none until `parley migrate` has computed it, and the server looks at all of these beside.
ALTER TABLE users ADD COLUMN folded_email text COLLATE "C";

CREATE FUNCTION fold_email() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.folded_email := CASE WHEN octet_length(NEW.email) = length(NEW.email)
                             THEN lower(NEW.email COLLATE "C") END;
    RETURN NEW;
END $$;

CREATE TRIGGER fold_new_email BEFORE INSERT ON users
    FOR EACH ROW WHEN (NEW.folded_email IS NULL) EXECUTE FUNCTION fold_email();
CREATE TRIGGER fold_changed_email BEFORE UPDATE OF email ON users
    FOR EACH ROW WHEN (NEW.email IS DISTINCT FROM OLD.email
                       AND NEW.folded_email IS NOT DISTINCT FROM OLD.folded_email)
    EXECUTE FUNCTION fold_email();

-- Each two hundred rows commit, but where all migrations are one transaction.
CREATE PROCEDURE fill_folded_emails()
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_realm_id bigint := 0;
    v_id bigint := 0;
BEGIN
    LOOP
        WITH batch AS MATERIALIZED (
            SELECT realm_id, user_id FROM users
             WHERE (realm_id, user_id) > (v_realm_id, v_id) AND folded_email IS NULL
               AND octet_length(email) = length(email)
             ORDER BY realm_id, user_id LIMIT 200 FOR NO KEY UPDATE
        ), filled AS (
            UPDATE users u SET folded_email = lower(u.email COLLATE "C")
              FROM batch b WHERE u.realm_id = b.realm_id AND u.user_id = b.user_id
        )
        SELECT b.realm_id, b.user_id INTO v_realm_id, v_id
          FROM batch b ORDER BY b.realm_id DESC, b.user_id DESC LIMIT 1;
        EXIT WHEN v_id IS NULL;
        IF current_setting('parley.one_transaction', true) IS DISTINCT FROM 'on' THEN COMMIT; END IF;
    END LOOP;
END $$;
