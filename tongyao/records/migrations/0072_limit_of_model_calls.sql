-- The limit of model calls that are under way at a time, of all workers together (docs/operations.md §8).

-- When a claimed call no longer counts, because its worker must have died. NULL: it never counts.
ALTER TABLE model_calls ADD COLUMN expires_at timestamptz;
CREATE INDEX model_calls_under_way ON model_calls (expires_at) WHERE state = 'claimed';

-- Claims a call before it is made. As before, with one more outcome: 'no_slot' where p_most claimed calls are under way; then nothing
-- is claimed. p_most NULL: no limit, and no lock. The call counts for p_seconds. Workers of an older build give neither.
DROP FUNCTION claim_call;
CREATE FUNCTION claim_call(
    p_call text, p_process text, p_step text, p_round integer, p_alias text, p_revision integer, p_reask integer,
    p_input text, p_repair text, p_prompt text, p_engine text, p_model text, p_worker text, p_owner text,
    p_tokens bigint, p_cost numeric, p_keep_tokens bigint, p_keep_cost numeric,
    p_seconds double precision DEFAULT NULL, p_most integer DEFAULT NULL
) RETURNS TABLE (outcome text, number integer, root text, key_id uuid, wrapped bytea, master_id text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_call(p_call);
    SELECT m.reask INTO number FROM model_calls m
        WHERE m.process_id = p_process AND m.step = p_step AND m.round = p_round AND m.alias = p_alias
            AND m.revision = p_revision AND m.state = 'settled'
            AND ((m.reask = p_reask AND m.input_hash = p_input) OR (m.reask = 1 AND m.input_hash = p_repair))
        ORDER BY m.reask LIMIT 1;
    IF FOUND THEN
        outcome := 'settled';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT m.state, m.attempt INTO outcome, number FROM model_calls m
        WHERE m.process_id = p_process AND m.step = p_step AND m.round = p_round AND m.alias = p_alias
            AND m.revision = p_revision AND m.reask = p_reask AND m.state IN ('waiting', 'answered')
            AND m.input_hash = p_input AND m.engine = p_engine
        ORDER BY m.attempt DESC LIMIT 1;
    IF FOUND THEN
        RETURN NEXT;
        RETURN;
    END IF;
    UPDATE model_calls m SET state = 'orphaned', ended_at = now()
        WHERE m.process_id = p_process AND m.step = p_step AND m.round = p_round AND m.alias = p_alias
            AND m.revision = p_revision AND m.reask = p_reask AND m.state IN ('claimed', 'waiting', 'answered');
    IF p_most IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('model calls at once', 0));
        IF (SELECT count(*) FROM model_calls m WHERE m.state = 'claimed' AND m.expires_at > now()) >= p_most THEN
            outcome := 'no_slot';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    SELECT p.budget_id INTO root FROM processes p WHERE p.id = p_process;
    IF NOT reserve_budget(root, p_call, p_tokens, p_cost, p_keep_tokens, p_keep_cost) THEN
        outcome := 'full';
        RETURN NEXT;
        RETURN;
    END IF;
    INSERT INTO model_calls AS m (process_id, step, round, alias, revision, reask, attempt,
            input_hash, prompt_hash, state, worker, engine, model, expires_at)
        SELECT p_process, p_step, p_round, p_alias, p_revision, p_reask, COALESCE(max(o.attempt), 0) + 1,
            p_input, p_prompt, 'claimed', p_worker, p_engine, p_model,
            now() + make_interval(secs => p_seconds)
        FROM model_calls o WHERE o.process_id = p_process AND o.step = p_step AND o.round = p_round AND o.alias = p_alias
            AND o.revision = p_revision AND o.reask = p_reask
        RETURNING m.attempt INTO number;
    outcome := 'claimed';
    SELECT k.id, k.wrapped, k.master_id INTO key_id, wrapped, master_id FROM data_keys k
        WHERE k.owner = p_owner AND k.destroyed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.owner = k.owner);
    RETURN NEXT;
END
$$;
