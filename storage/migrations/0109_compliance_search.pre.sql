-- Compliance officers, and the cases in which they search all messages.
CREATE SEQUENCE compliance_case_ids;

CREATE TABLE compliance_officers (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    creator_id bigint NOT NULL,
    appointed_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id)
);

CREATE TABLE compliance_rules (
    realm_id bigint NOT NULL,
    -- Whether another officer has to approve each case.
    needs_two_persons boolean NOT NULL,
    PRIMARY KEY (realm_id)
);

CREATE TABLE compliance_cases (
    realm_id bigint NOT NULL,
    case_id bigint NOT NULL DEFAULT nextval('compliance_case_ids'),
    creator_id bigint NOT NULL,
    reason text NOT NULL,
    hours integer NOT NULL,
    needs_approval boolean NOT NULL,
    opened_at timestamptz NOT NULL,
    approver_id bigint,
    -- Null until it has been approved, if it has to be.
    ends_at timestamptz,
    closed_at timestamptz,
    searches integer NOT NULL DEFAULT 0,
    PRIMARY KEY (realm_id, case_id)
);
