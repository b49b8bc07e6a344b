-- Maintenance: how each duty ended last, and which backups were noted (docs/operations.md §11).

CREATE TABLE duties (
    duty          text PRIMARY KEY,
    succeeded_at  timestamptz,                    -- the last time
    failed_at     timestamptz,                    -- likewise
    failures      integer NOT NULL DEFAULT 0,     -- in a row; 0 after a success
    error         text NOT NULL DEFAULT '',       -- of the last failure: a closed word, or the type of an error
    counts        jsonb NOT NULL DEFAULT '{}'     -- of the last success
);

CREATE TABLE backups (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    files   integer NOT NULL CHECK (files >= 0),
    bytes   bigint NOT NULL CHECK (bytes >= 0),
    login   text NOT NULL
);
