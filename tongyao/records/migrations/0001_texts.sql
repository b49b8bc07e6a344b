-- Texts, their keys, and their erasure (docs/erasure.md). Bodies of texts are in `texts` and nowhere else: every other table
-- holds ids, spans, counts and closed words.

CREATE TABLE data_keys (
    id            uuid PRIMARY KEY,
    owner         text NOT NULL,
    wrapped       bytea,                 -- by a master key, which stands nowhere here; NULL: unencrypted, or destroyed
    master_id     text,                  -- which master key wraps it; NULL: texts of it are not sealed
    created_at    timestamptz NOT NULL DEFAULT now(),
    destroyed_at  timestamptz
);
CREATE UNIQUE INDEX data_keys_one_active ON data_keys (owner) WHERE destroyed_at IS NULL;

-- The master keys this database has seen, by fingerprint: whoever opens it without one of them is refused.
CREATE TABLE master_keys (
    id          text PRIMARY KEY,
    first_used  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE texts (
    id           uuid PRIMARY KEY,
    owner        text NOT NULL,
    key_id       uuid NOT NULL REFERENCES data_keys (id),
    kind         text NOT NULL,
    body         bytea,                  -- UTF-8, sealed or not; NULL once erased
    sealed       boolean NOT NULL DEFAULT false,
    chars        integer NOT NULL,
    replaced_by  uuid REFERENCES texts (id),    -- what stands in the place of a text that quoted somebody who is erased
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX texts_by_owner ON texts (owner);
CREATE INDEX texts_replaced ON texts (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE FUNCTION texts_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    instead uuid := NEW.replaced_by;
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('tongyao.erasing', true) = 'on' THEN
        NEW := OLD;
        NEW.body := NULL;
        NEW.replaced_by := instead;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'texts are append-only: % refused; only erasure may remove a body', TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER texts_append_only BEFORE UPDATE OR DELETE ON texts
    FOR EACH ROW EXECUTE FUNCTION texts_are_append_only();
CREATE TRIGGER texts_no_truncate BEFORE TRUNCATE ON texts
    FOR EACH STATEMENT EXECUTE FUNCTION texts_are_append_only();

-- Removes every body of one owner and destroys their keys; the rows stay, so that references still resolve.
CREATE FUNCTION erase_texts(whose text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    erased integer;
BEGIN
    -- The keys first: whoever is storing a text for this owner holds theirs (FOR SHARE), so none slips in behind us.
    UPDATE data_keys SET wrapped = NULL, destroyed_at = now() WHERE owner = whose AND destroyed_at IS NULL;
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL WHERE owner = whose AND body IS NOT NULL;
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('tongyao.erasing', 'off', true);
    RETURN erased;
END
$$;

-- Removes the bodies of single texts: those of others that quote somebody who is erased.
CREATE FUNCTION remove_texts(which uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    removed integer;
BEGIN
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL WHERE body IS NOT NULL
        AND (id = ANY(which) OR id IN (SELECT replaced_by FROM texts WHERE id = ANY(which)));
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM set_config('tongyao.erasing', 'off', true);
    RETURN removed;
END
$$;

CREATE FUNCTION replace_text(old uuid, new uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    present uuid := (SELECT COALESCE(replaced_by, id) FROM texts WHERE id = old);
BEGIN
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL, replaced_by = new WHERE id = present OR replaced_by = present;
    PERFORM set_config('tongyao.erasing', 'off', true);
END
$$;

-- Owners who had themselves erased: nothing of theirs is stored again.
CREATE TABLE tombstones (
    owner        text PRIMARY KEY,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    erased_at    timestamptz,                     -- NULL while it is being done
    report       jsonb NOT NULL DEFAULT '{}'      -- ids and counts
);

-- What people write and have not sent yet: changed in place, read by nobody else, removed when it is sent.
CREATE TABLE drafts (
    owner        text NOT NULL,
    ask          text NOT NULL,          -- the id of the row of the inbox that it would answer, or `start`
    body         bytea NOT NULL,         -- UTF-8, sealed with the owner's data key or not
    sealed       boolean NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, ask)
);
