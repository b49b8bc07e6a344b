-- People's own agents on platforms of their own, which are asked when a turn waits for them (docs/extending.md).

CREATE TABLE sources (
    person               text PRIMARY KEY,
    kind                 text NOT NULL,
    config               jsonb NOT NULL DEFAULT '{}',         -- addresses; never a secret
    credentials_text_id  uuid NOT NULL REFERENCES texts (id), -- JSON, the person's own text: sealed and erased as such
    created_at           timestamptz NOT NULL DEFAULT now()
);

-- One row per turn that a source is asked for: who takes it holds it until `next_attempt_at`.
CREATE TABLE source_turns (
    process_id       text NOT NULL REFERENCES processes (id),
    alias            text NOT NULL,
    round            integer NOT NULL,
    person           text NOT NULL,
    state            text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'said', 'refused', 'failed')),
    why              text NOT NULL DEFAULT '',                -- a closed word, of the last failure or refusal
    attempts         integer NOT NULL DEFAULT 1,
    next_attempt_at  timestamptz NOT NULL,
    PRIMARY KEY (process_id, alias, round)
);
CREATE INDEX source_turns_by_person ON source_turns (person);
