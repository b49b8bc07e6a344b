-- Encryption at rest (docs/erasure.md). A data key stands here wrapped; the master key that wraps it never does.

ALTER TABLE data_keys ADD COLUMN master_id text;   -- which master key wraps it; NULL: texts of it are not sealed
ALTER TABLE texts ADD COLUMN sealed boolean NOT NULL DEFAULT false;

-- The master keys this database has seen, by fingerprint: whoever opens it without one of them is stopped at the door.
CREATE TABLE master_keys (
    id          text PRIMARY KEY,
    first_used  timestamptz NOT NULL DEFAULT now()
);

-- Owners who had themselves erased: nothing of theirs is stored again.
CREATE TABLE tombstones (
    owner        text PRIMARY KEY,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    erased_at    timestamptz,                     -- NULL while it is being done
    report       jsonb NOT NULL DEFAULT '{}'      -- ids and counts
);

-- Texts that operators signalled by hand: these alone stand in a Temporal history too.
CREATE TABLE signalled (
    process_id  text NOT NULL REFERENCES processes (id),
    text_id     uuid NOT NULL REFERENCES texts (id),
    owner       text NOT NULL,
    PRIMARY KEY (process_id, text_id)
);
CREATE INDEX signalled_by_owner ON signalled (owner);

-- Histories to be deleted as soon as their workflows have ended.
CREATE TABLE history_deletions (
    process_id  text PRIMARY KEY REFERENCES processes (id),
    asked_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);

CREATE OR REPLACE FUNCTION texts_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('tongyao.erasing', true) = 'on' THEN
        NEW := OLD;
        NEW.body := NULL;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'texts are append-only: % refused; only erasure may remove a body', TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;

-- Removes the bodies of single texts: those of others that quote somebody who is erased.
CREATE FUNCTION remove_texts(which uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    removed integer;
BEGIN
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL WHERE id = ANY(which) AND body IS NOT NULL;
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('tongyao.erasing', 'off', true);
    RETURN removed;
END
$$;
