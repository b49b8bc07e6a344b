-- A graph with fewer neighbours, chosen among more of them, finds more of the nearest in less time (docs/field.md §6).
-- Indexes that are there keep theirs until their scene is indexed anew.

CREATE OR REPLACE FUNCTION field_index_sides(which integer, width integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    side text;
BEGIN
    FOREACH side IN ARRAY ARRAY['offers', 'moves', 'needs'] LOOP
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS field_chunks_%1$s_%2$s ON field_chunks_%1$s
             USING hnsw ((vector::halfvec(%3$s)) halfvec_ip_ops) WITH (m = 16, ef_construction = 600)
             WHERE facet = %2$L', which, side, width);
    END LOOP;
END
$$;
