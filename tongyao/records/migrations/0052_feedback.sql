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
