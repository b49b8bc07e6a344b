-- Accounts at an OpenID provider with which people sign in (SECURITY.md). One account opens one person, and a person has one of each provider.
CREATE TABLE openid_links (
    person      text NOT NULL,
    issuer      text NOT NULL,
    account     text NOT NULL,                    -- SHA-256 of the provider's id of the account, which is not kept
    made_with   text,                             -- the bearer token whose end is this one's too; NULL: none
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (person, issuer),
    UNIQUE (issuer, account)
);
