-- Each side of a profile has an HNSW index of its own: a search among one side in an index of all walks through what it
-- then leaves out (docs/field.md §6).

DROP FUNCTION field_nearest(integer, halfvec[], text[], text[], integer, integer);

-- The nearest chunks of each query on its side, without some people: one round trip for all.
CREATE FUNCTION field_nearest(
    which integer, asked halfvec[], sides text[], without text[], most integer[], ef integer[]
) RETURNS TABLE (query integer, profile_id text) LANGUAGE plpgsql AS $$
DECLARE
    width integer;
BEGIN
    IF cardinality(asked) = 0 THEN
        RETURN;
    END IF;
    width := vector_dims(asked[1]);
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true);
    FOR n IN 1 .. cardinality(asked) LOOP
        PERFORM set_config('hnsw.ef_search', ef[n]::text, true);
        RETURN QUERY EXECUTE format(
            'SELECT $4, profile_id FROM field_chunks_%2$s WHERE facet = %3$L AND profile_id <> ALL ($2)
             ORDER BY vector::halfvec(%1$s) <#> $1 LIMIT $3', width, which, sides[n]
        ) USING asked[n]::halfvec, without, most[n], n;
    END LOOP;
END
$$;

CREATE FUNCTION field_index_sides(which integer, width integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    side text;
BEGIN
    FOREACH side IN ARRAY ARRAY['offers', 'moves', 'needs'] LOOP
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS field_chunks_%1$s_%2$s ON field_chunks_%1$s
             USING hnsw ((vector::halfvec(%3$s)) halfvec_ip_ops) WITH (m = 24, ef_construction = 128)
             WHERE facet = %2$L', which, side, width);
    END LOOP;
END
$$;

DO $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT id, dimension FROM field_indexes WHERE state = 'live' LOOP
        PERFORM field_index_sides(one.id, one.dimension);
        EXECUTE format('DROP INDEX IF EXISTS field_chunks_%s_hnsw', one.id);
    END LOOP;
END
$$;
