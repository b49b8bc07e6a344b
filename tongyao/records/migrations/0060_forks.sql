-- Forks: processes made of the record of another one (docs/forks.md).

-- A fork is in the tree of its origin, where the same names are hidden and an erasure finds it. Its budget is its own.
ALTER TABLE processes
    ADD COLUMN forked_from text REFERENCES processes (id),
    ADD COLUMN first_origin text REFERENCES processes (id),     -- the first origin of a fork of forks, whose aliases it has
    ADD COLUMN fork_round  integer NOT NULL DEFAULT 0,          -- from which its changes hold; 0: it is no fork
    ADD COLUMN began_at    timestamptz NOT NULL DEFAULT now(),  -- the day that prompts name: of a fork that of its origin
    ADD COLUMN budget_id   text GENERATED ALWAYS AS (CASE WHEN forked_from IS NULL THEN root_id ELSE id END) STORED;
UPDATE processes SET began_at = created_at;
CREATE INDEX processes_by_origin ON processes (forked_from) WHERE forked_from IS NOT NULL;
CREATE INDEX processes_by_budget ON processes (budget_id);

-- What was asked, as `engine/model`: the answer's own name of its model takes the place of the one that was asked.
ALTER TABLE model_calls ADD COLUMN asked_of text NOT NULL DEFAULT '';
UPDATE model_calls SET asked_of = engine || '/' || model;
CREATE FUNCTION note_asked_of() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.asked_of := NEW.engine || '/' || NEW.model;
    RETURN NEW;
END
$$;
CREATE TRIGGER note_asked_of BEFORE INSERT ON model_calls FOR EACH ROW EXECUTE FUNCTION note_asked_of();

-- Both functions as they are, with the budget of the process in place of that of its tree.
DO $$
DECLARE
    name text;
    was text;
BEGIN
    FOREACH name IN ARRAY ARRAY['claim_call', 'settle_budget'] LOOP
        was := pg_get_functiondef(name::regproc);
        IF (length(was) - length(replace(was, 'p.root_id', ''))) <> length('p.root_id') THEN
            RAISE EXCEPTION '% does not name the root of a process once', name;
        END IF;
        EXECUTE replace(was, 'p.root_id', 'p.budget_id');
    END LOOP;
END
$$;

-- A process, and of a fork its origin, that one's origin and so on, nearest first.
CREATE FUNCTION with_origins(p_process text) RETURNS TABLE (id text, distance integer) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE line AS (
        SELECT p.id, p.forked_from, 0 AS distance FROM processes p WHERE p.id = p_process
        UNION ALL SELECT p.id, p.forked_from, line.distance + 1 FROM line JOIN processes p ON p.id = line.forked_from
    ) SELECT line.id, line.distance FROM line
$$;
