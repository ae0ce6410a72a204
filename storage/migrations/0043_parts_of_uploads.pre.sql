-- Whoever ends an upload ends what has come of it: the content of its parts is nobody's then.
DELETE FROM upload_parts p
 WHERE NOT EXISTS (SELECT FROM resumable_uploads r
                    WHERE r.realm_id = p.realm_id AND r.upload_id = p.upload_id);
ALTER TABLE upload_parts
    ADD CONSTRAINT upload_parts_of_upload FOREIGN KEY (realm_id, upload_id)
        REFERENCES resumable_uploads ON DELETE CASCADE;
