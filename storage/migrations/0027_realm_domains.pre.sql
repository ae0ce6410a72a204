-- Whose addresses may have accounts, where an organization says so.

CREATE SEQUENCE realm_domain_ids;

CREATE TABLE realm_domains (
    realm_id bigint NOT NULL,
    domain_id bigint NOT NULL DEFAULT nextval('realm_domain_ids'),
    -- In small letters.
    domain text NOT NULL,
    allow_subdomains boolean NOT NULL,
    PRIMARY KEY (realm_id, domain)
);
