-- What the rounds and the plan brought, by text ids; model calls and budgets (docs/protocol.md §8.1, §10.2).

CREATE TABLE model_calls (
    process_id          text NOT NULL REFERENCES processes (id),
    step                text NOT NULL,
    round               integer NOT NULL,
    alias               text NOT NULL,
    revision            integer NOT NULL,
    reask               integer NOT NULL,
    attempt             integer NOT NULL CHECK (attempt >= 1),
    input_hash          text NOT NULL,
    state               text NOT NULL CHECK (state IN ('claimed', 'settled', 'failed', 'orphaned')),
    worker              text NOT NULL,
    engine              text NOT NULL,
    model               text NOT NULL,
    labels              text[] NOT NULL DEFAULT '{}',
    input_tokens        bigint NOT NULL DEFAULT 0,
    cache_write_tokens  bigint NOT NULL DEFAULT 0,
    cache_read_tokens   bigint NOT NULL DEFAULT 0,
    output_tokens       bigint NOT NULL DEFAULT 0,
    requests            integer NOT NULL DEFAULT 0,   -- sent to a service: two when a cut answer was asked for again
    cost                numeric(18, 8) NOT NULL DEFAULT 0,   -- US dollars
    cost_known          boolean NOT NULL DEFAULT false,
    answer_text_id      uuid REFERENCES texts (id),
    draft_text_id       uuid REFERENCES texts (id),
    error_reason        text,
    claimed_at          timestamptz NOT NULL DEFAULT now(),
    ended_at            timestamptz,
    PRIMARY KEY (process_id, step, round, alias, revision, reask, attempt),
    CHECK (state <> 'settled' OR (answer_text_id IS NOT NULL AND draft_text_id IS NOT NULL))
);
CREATE UNIQUE INDEX model_calls_settled_once
    ON model_calls (process_id, step, round, alias, revision, reask, input_hash) WHERE state = 'settled';
CREATE INDEX model_calls_by_day ON model_calls (claimed_at);

-- Readings of an intent before there is a process (docs/protocol.md, 10.2): what they used counts towards the budgets of the day.
CREATE TABLE intent_readings (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person  text NOT NULL,
    engine  text NOT NULL,
    model   text NOT NULL,
    tokens  bigint NOT NULL,
    cost    numeric(18, 8) NOT NULL,                   -- US dollars
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX intent_readings_by_day ON intent_readings (at);

CREATE TABLE projections (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL CHECK (round >= 1),
    alias       text NOT NULL,
    outcome     text NOT NULL,
    author      text NOT NULL,
    text_id     uuid REFERENCES texts (id),       -- JSON of the projection; NULL when nothing was said
    items       integer NOT NULL DEFAULT 0,
    chars       integer NOT NULL DEFAULT 0,
    struck      integer NOT NULL DEFAULT 0,
    guards      jsonb NOT NULL DEFAULT '{}',      -- counts by guard
    seconds     double precision NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, round, alias)
);

CREATE TABLE observations (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL CHECK (round >= 1),
    verdict     text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),
    chars       integer NOT NULL DEFAULT 0,
    struck      integer NOT NULL DEFAULT 0,
    guards      jsonb NOT NULL DEFAULT '{}',
    seconds     double precision NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, round)
);

CREATE TABLE relations (
    process_id  text NOT NULL REFERENCES processes (id),
    round       integer NOT NULL,
    a           text NOT NULL,
    b           text NOT NULL,
    kind        text NOT NULL
        CHECK (kind IN ('complementary', 'aligned', 'offsetting', 'none_found', 'not_examined')),
    sources     text[] NOT NULL DEFAULT '{}',     -- item ids
    PRIMARY KEY (process_id, round, a, b, kind),  -- a pair may have a second relation, of another kind
    CHECK (a < b)
);

CREATE TABLE plans (
    process_id        text NOT NULL REFERENCES processes (id),
    revision          integer NOT NULL CHECK (revision >= 1),
    text_id           uuid NOT NULL REFERENCES texts (id),
    markdown_text_id  uuid NOT NULL REFERENCES texts (id),
    reduced           boolean NOT NULL,
    claims            integer NOT NULL,
    supported         integer NOT NULL,
    at                timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision),
    CHECK (supported <= claims)
);

CREATE TABLE deliveries (
    process_id  text NOT NULL REFERENCES processes (id),
    revision    integer NOT NULL,
    alias       text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),
    language    text NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision, alias)
);

CREATE TABLE answers (
    process_id  text NOT NULL REFERENCES processes (id),
    revision    integer NOT NULL,
    alias       text NOT NULL,
    decision    text NOT NULL CHECK (decision IN ('commit', 'decline', 'propose')),
    text_id     uuid REFERENCES texts (id),
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, revision, alias)
);

-- Texts that stood in a turn or a delivery, and were corrected or superseded: erasing somebody must find them.
CREATE TABLE replaced_texts (
    process_id  text NOT NULL REFERENCES processes (id),
    text_id     uuid NOT NULL REFERENCES texts (id),
    PRIMARY KEY (process_id, text_id)
);

CREATE FUNCTION note_replaced_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.text_id IS NOT NULL AND (TG_OP = 'DELETE' OR NEW.text_id IS DISTINCT FROM OLD.text_id) THEN
        INSERT INTO replaced_texts VALUES (OLD.process_id, OLD.text_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER projections_replaced AFTER UPDATE OR DELETE ON projections
    FOR EACH ROW EXECUTE FUNCTION note_replaced_text();
CREATE TRIGGER deliveries_replaced AFTER UPDATE OR DELETE ON deliveries
    FOR EACH ROW EXECUTE FUNCTION note_replaced_text();

CREATE TABLE budgets (
    root_id          text PRIMARY KEY,
    person           text,                        -- whose day budget counts too; NULL: started on the machine
    limit_tokens     bigint,                      -- NULL: no limit
    limit_cost       numeric(18, 8),
    reserved_tokens  bigint NOT NULL DEFAULT 0,
    reserved_cost    numeric(18, 8) NOT NULL DEFAULT 0,
    settled_tokens   bigint NOT NULL DEFAULT 0,
    settled_cost     numeric(18, 8) NOT NULL DEFAULT 0,
    CHECK (reserved_tokens >= 0 AND reserved_cost >= 0)
);

-- What was reserved for which call or child, so that a repeated activity reserves and settles once.
CREATE TABLE reservations (
    root_id     text NOT NULL REFERENCES budgets (root_id),
    key         text NOT NULL,
    tokens      bigint NOT NULL CHECK (tokens >= 0),
    cost        numeric(18, 8) NOT NULL CHECK (cost >= 0),
    settled     boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (root_id, key)
);

-- What became of a plan, said by those it was made for; also long after the process has ended (docs/plans.md).
CREATE TABLE feedback (
    process_id  text NOT NULL REFERENCES processes (id),
    alias       text NOT NULL,                    -- P00 for the demander
    person      text NOT NULL,
    revision    integer NOT NULL,
    usefulness  smallint CHECK (usefulness BETWEEN 1 AND 5),
    outcome     text CHECK (outcome IN ('done', 'partly', 'not_done', 'too_early')),
    text_id     uuid REFERENCES texts (id),
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, alias, revision)
);
CREATE INDEX feedback_by_person ON feedback (person);

-- How those who committed to a plan reach each other, and what the demander tells them (docs/plans.md).
CREATE TABLE contacts (
    process_id  text NOT NULL REFERENCES processes (id),
    alias       text NOT NULL,                    -- P00 for the demander
    person      text NOT NULL,
    text_id     uuid NOT NULL REFERENCES texts (id),
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (process_id, alias)
);
CREATE INDEX contacts_by_person ON contacts (person);
