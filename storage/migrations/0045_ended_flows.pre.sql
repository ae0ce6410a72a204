-- Ways to another site and back that have ended: what has let somebody in once does not again.
CREATE TABLE ended_flows (
    realm_id bigint NOT NULL,
    flow_digest bytea NOT NULL,
    -- Until then what the other site has said might be believed.
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, flow_digest)
);
