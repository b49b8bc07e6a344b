-- The intent field's index: chunks as vectors, offsets only, no words (docs/field.md §6). What is here can be made
-- again from profiles; nothing else refers to it.

CREATE EXTENSION IF NOT EXISTS vector;

-- One encoder's view of one scene. A changed encoder fills a second one beside the live one, which it then replaces.
CREATE TABLE field_indexes (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scene_id     text NOT NULL REFERENCES scenes (id) ON DELETE CASCADE,
    kind         text NOT NULL CHECK (kind IN ('lexical', 'model')),
    encoder      text NOT NULL,
    version      text NOT NULL,
    dimension    integer NOT NULL CHECK (dimension BETWEEN 1 AND 4000),   -- what an HNSW index of halfvec can hold
    spec         jsonb,                           -- what the model is loaded by
    learned      bytea,                           -- what the lexical encoder learned from the scene
    people       integer NOT NULL,                -- how many there were then
    state        text NOT NULL DEFAULT 'filling' CHECK (state IN ('filling', 'live')),
    deletions    integer NOT NULL DEFAULT 0,      -- what a worker remembers of the scene is dropped when it changes
    created_at   timestamptz NOT NULL DEFAULT now(),
    switched_at  timestamptz
);
CREATE UNIQUE INDEX field_indexes_one_of_each ON field_indexes (scene_id, kind, state);

-- Which version of whom an index holds.
CREATE TABLE field_members (
    index_id    integer NOT NULL REFERENCES field_indexes (id) ON DELETE CASCADE,
    profile_id  text NOT NULL,
    version     integer NOT NULL,
    PRIMARY KEY (index_id, profile_id)
);
CREATE INDEX field_members_by_profile ON field_members (profile_id);

-- A partition for each index: dropping an index is dropping a table.
CREATE TABLE field_chunks (
    index_id    integer NOT NULL,
    profile_id  text NOT NULL,
    no          integer NOT NULL,
    facet       text NOT NULL,
    start_at    integer NOT NULL,
    end_at      integer NOT NULL,
    vector      halfvec NOT NULL,
    terms       bytea,                            -- hashed words with their counts, of the lexical index only
    PRIMARY KEY (index_id, profile_id, no)
) PARTITION BY LIST (index_id);

-- Who came or changed since: searches take them in before they answer.
CREATE TABLE field_changes (
    scene_id    text NOT NULL,
    profile_id  text NOT NULL,
    PRIMARY KEY (scene_id, profile_id)
);

-- Every door that stores a profile leads through the table `profiles`, so freshness and forgetting hang here.
CREATE FUNCTION field_follows_profiles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.deleted_at IS NOT NULL THEN
        DELETE FROM field_chunks WHERE profile_id = OLD.id;
        DELETE FROM field_members WHERE profile_id = OLD.id;
        DELETE FROM field_changes WHERE profile_id = OLD.id;
        UPDATE field_indexes SET deletions = deletions + 1 WHERE scene_id = OLD.scene_id;
    ELSIF EXISTS (SELECT 1 FROM field_indexes WHERE scene_id = NEW.scene_id AND state = 'live') THEN
        INSERT INTO field_changes VALUES (NEW.scene_id, NEW.id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER field_follows_new_versions AFTER UPDATE OF current_version, deleted_at ON profiles
    FOR EACH ROW EXECUTE FUNCTION field_follows_profiles();
CREATE TRIGGER field_follows_deletes AFTER DELETE ON profiles
    FOR EACH ROW EXECUTE FUNCTION field_follows_profiles();

-- The nearest chunks of each query, among its sides (comma-separated), without some people: one round trip for all.
CREATE FUNCTION field_nearest(
    which integer, asked halfvec[], sides text[], without text[], most integer, ef integer
) RETURNS TABLE (query integer, profile_id text, near real) LANGUAGE plpgsql AS $$
DECLARE
    width integer;
BEGIN
    IF cardinality(asked) = 0 THEN
        RETURN;
    END IF;
    width := vector_dims(asked[1]);
    PERFORM set_config('hnsw.ef_search', ef::text, true);
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    FOR n IN 1 .. cardinality(asked) LOOP
        RETURN QUERY EXECUTE format(
            'SELECT $5, profile_id, (-(vector::halfvec(%1$s) <#> $1))::real FROM field_chunks_%2$s
             WHERE ($2 IS NULL OR facet = ANY ($2)) AND profile_id <> ALL ($3)
             ORDER BY vector::halfvec(%1$s) <#> $1 LIMIT $4', width, which
        ) USING asked[n]::halfvec, string_to_array(nullif(sides[n], ''), ','), without, most, n;
    END LOOP;
END
$$;
