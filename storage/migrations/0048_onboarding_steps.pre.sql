-- What clients explain once, and have explained to whom.
CREATE TABLE onboarding_steps (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    step text NOT NULL,
    PRIMARY KEY (realm_id, user_id, step)
);
