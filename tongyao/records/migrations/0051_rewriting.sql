-- A text that quoted somebody who is erased is removed; where something could be kept of it, that stands in its place.

ALTER TABLE texts ADD COLUMN replaced_by uuid REFERENCES texts (id);
CREATE INDEX texts_replaced ON texts (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE OR REPLACE FUNCTION texts_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE FUNCTION replace_text(old uuid, new uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    present uuid := (SELECT COALESCE(replaced_by, id) FROM texts WHERE id = old);
BEGIN
    PERFORM set_config('tongyao.erasing', 'on', true);
    UPDATE texts SET body = NULL, replaced_by = new WHERE id = present OR replaced_by = present;
    PERFORM set_config('tongyao.erasing', 'off', true);
END
$$;

CREATE OR REPLACE FUNCTION remove_texts(which uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
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
