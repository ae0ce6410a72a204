-- What clients need to turn pasted addresses back into text, and an example for administrators.
ALTER TABLE linkifiers
    ADD COLUMN example_input text,
    ADD COLUMN reverse_template text,
    ADD COLUMN alternative_url_templates text[] NOT NULL DEFAULT '{}';

-- Whether clients look for the values of a field when they complete names.
ALTER TABLE profile_fields ADD COLUMN use_for_user_matching boolean NOT NULL DEFAULT false;
