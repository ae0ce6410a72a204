-- Which version of the functions of each area is installed (storage/functions).
CREATE TABLE schema_functions (
    area text PRIMARY KEY,
    number integer NOT NULL,
    -- Of the installed text: two builds may use one number for different texts.
    digest text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
