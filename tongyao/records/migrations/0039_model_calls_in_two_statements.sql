-- A model call takes two statements: claim_call before it, end_call after it (docs/protocol.md §8.1, §10.2).

-- Of the whole prompt. A fork may take an answer only where input_hash, prompt_hash, engine and model agree.
ALTER TABLE model_calls ADD COLUMN prompt_hash text NOT NULL DEFAULT '';

-- Reserves for p_key, such that p_keep_… are still left. True: reserved, or held already. False: no room, nothing is reserved.
-- NULL: this root has no budget.
CREATE FUNCTION reserve_budget(
    p_root text, p_key text, p_tokens bigint, p_cost numeric, p_keep_tokens bigint, p_keep_cost numeric
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    budget budgets;
BEGIN
    SELECT * INTO budget FROM budgets b WHERE b.root_id = p_root FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT 1 FROM reservations r WHERE r.root_id = p_root AND r.key = p_key AND NOT r.settled) THEN
        RETURN true;
    END IF;
    IF budget.settled_tokens + budget.reserved_tokens + p_tokens + p_keep_tokens > budget.limit_tokens
        OR budget.settled_cost + budget.reserved_cost + p_cost + p_keep_cost > budget.limit_cost
    THEN
        RETURN false;
    END IF;
    INSERT INTO reservations (root_id, key, tokens, cost) VALUES (p_root, p_key, p_tokens, p_cost)
        ON CONFLICT (root_id, key) DO UPDATE
        SET tokens = excluded.tokens, cost = excluded.cost, settled = false;
    UPDATE budgets SET reserved_tokens = reserved_tokens + p_tokens, reserved_cost = reserved_cost + p_cost
        WHERE root_id = p_root;
    RETURN true;
END
$$;

-- Releases what a process has reserved for p_key (NULL: all that it has reserved) and counts what was used, even beyond a limit.
-- Where its tree has no budget, nothing is counted.
CREATE FUNCTION settle_budget(p_process text, p_key text, p_tokens bigint, p_cost numeric)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    root text;
BEGIN
    SELECT b.root_id INTO root FROM budgets b
        WHERE b.root_id = (SELECT p.root_id FROM processes p WHERE p.id = p_process) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH freed AS (
        UPDATE reservations SET settled = true
        WHERE root_id = root AND NOT settled AND (key = p_key OR (p_key IS NULL AND starts_with(key, p_process || '/')))
        RETURNING tokens, cost)
    UPDATE budgets SET
        reserved_tokens = reserved_tokens - COALESCE((SELECT sum(tokens) FROM freed), 0),
        reserved_cost = reserved_cost - COALESCE((SELECT sum(cost) FROM freed), 0),
        settled_tokens = settled_tokens + p_tokens, settled_cost = settled_cost + p_cost
    WHERE root_id = root;
END
$$;

-- Stores texts, each sealed with a data key of its owner's; returns the ids that are new. The keys are held until commit: erasure
-- waits. Nothing is stored of an owner who was erased.
CREATE FUNCTION put_texts(p_keys uuid[], p_sealed boolean, p_ids uuid[], p_kinds text[], p_bodies bytea[], p_chars integer[])
RETURNS SETOF uuid LANGUAGE sql AS $$
    INSERT INTO texts (id, owner, key_id, kind, body, sealed, chars)
    SELECT t.id, k.owner, k.id, t.kind, t.body, p_sealed, t.chars
    FROM data_keys k JOIN unnest(p_keys, p_ids, p_kinds, p_bodies, p_chars) AS t (key, id, kind, body, chars) ON k.id = t.key
    WHERE k.destroyed_at IS NULL AND NOT EXISTS (SELECT 1 FROM tombstones s WHERE s.owner = k.owner)
    FOR SHARE OF k ON CONFLICT (id) DO NOTHING RETURNING id
$$;

-- One caller at a time for all attempts of a call, until the end of the transaction.
CREATE FUNCTION lock_call(p_call text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('call/' || p_call, 0))
$$;

-- Claims a call before it is made. `outcome`: 'claimed'; 'settled' where an answer is stored already, to p_input or, in the
-- re-ask, to p_repair; 'full' where the budget has no room: then nothing is claimed. With 'claimed' come the number of the
-- attempt, and the data key of p_owner, if there is one. Attempts that never came back become orphaned.
CREATE FUNCTION claim_call(
    p_call text, p_process text, p_step text, p_round integer, p_alias text, p_revision integer, p_reask integer,
    p_input text, p_repair text, p_prompt text, p_engine text, p_model text, p_worker text, p_owner text,
    p_tokens bigint, p_cost numeric, p_keep_tokens bigint, p_keep_cost numeric
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
    UPDATE model_calls m SET state = 'orphaned', ended_at = now()
        WHERE m.process_id = p_process AND m.step = p_step AND m.round = p_round AND m.alias = p_alias
            AND m.revision = p_revision AND m.reask = p_reask AND m.state = 'claimed';
    SELECT p.root_id INTO root FROM processes p WHERE p.id = p_process;
    IF NOT reserve_budget(root, p_call, p_tokens, p_cost, p_keep_tokens, p_keep_cost) THEN
        outcome := 'full';
        RETURN NEXT;
        RETURN;
    END IF;
    INSERT INTO model_calls AS m (process_id, step, round, alias, revision, reask, attempt,
            input_hash, prompt_hash, state, worker, engine, model)
        SELECT p_process, p_step, p_round, p_alias, p_revision, p_reask, COALESCE(max(o.attempt), 0) + 1,
            p_input, p_prompt, 'claimed', p_worker, p_engine, p_model
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

-- Ends an attempt, with its texts where it settles, and counts what it used. Returns the attempt that counts: this one, or the one
-- that settled the same input before; then this one is superseded. Raises, and changes nothing: TY001 where the owner of the texts
-- was erased, TY002 where the attempt was never claimed or has ended.
CREATE FUNCTION end_call(
    p_call text, p_process text, p_step text, p_round integer, p_alias text, p_revision integer, p_reask integer,
    p_attempt integer, p_state text, p_reason text, p_input_tokens bigint, p_cache_write_tokens bigint,
    p_cache_read_tokens bigint, p_output_tokens bigint, p_requests integer, p_cost numeric,
    p_engine text, p_model text, p_labels text[],
    p_keys uuid[], p_sealed boolean, p_ids uuid[], p_kinds text[], p_bodies bytea[], p_chars integer[]
) RETURNS SETOF model_calls LANGUAGE plpgsql AS $$
DECLARE
    mine model_calls;
    first model_calls;
BEGIN
    PERFORM lock_call(p_call);
    IF p_state = 'settled' THEN
        SELECT m.* INTO first FROM model_calls m JOIN model_calls a
            USING (process_id, step, round, alias, revision, reask, input_hash)
            WHERE a.process_id = p_process AND a.step = p_step AND a.round = p_round AND a.alias = p_alias
                AND a.revision = p_revision AND a.reask = p_reask AND a.attempt = p_attempt AND m.state = 'settled';
        IF first.attempt = p_attempt THEN
            RETURN NEXT first;
            RETURN;
        END IF;
        IF first.attempt IS NULL AND (SELECT count(*) FROM put_texts(p_keys, p_sealed, p_ids, p_kinds, p_bodies, p_chars))
            < cardinality(p_ids)
        THEN
            RAISE EXCEPTION 'the owner of these texts was erased' USING ERRCODE = 'TY001';
        END IF;
    END IF;
    UPDATE model_calls m SET
            state = CASE WHEN first.attempt IS NULL THEN p_state ELSE 'failed' END,
            error_reason = CASE WHEN first.attempt IS NULL THEN p_reason ELSE 'superseded' END,
            ended_at = now(), input_tokens = p_input_tokens, cache_write_tokens = p_cache_write_tokens,
            cache_read_tokens = p_cache_read_tokens, output_tokens = p_output_tokens, requests = p_requests,
            cost = COALESCE(p_cost, 0), cost_known = p_cost IS NOT NULL,
            answer_text_id = CASE WHEN first.attempt IS NULL THEN p_ids[1] END,
            draft_text_id = CASE WHEN first.attempt IS NULL THEN p_ids[2] END,
            engine = COALESCE(p_engine, m.engine), model = COALESCE(p_model, m.model), labels = COALESCE(p_labels, m.labels)
        WHERE m.process_id = p_process AND m.step = p_step AND m.round = p_round AND m.alias = p_alias
            AND m.revision = p_revision AND m.reask = p_reask AND m.attempt = p_attempt
            AND m.state IN ('claimed', 'orphaned')
        RETURNING m.* INTO mine;
    IF FOUND THEN
        PERFORM settle_budget(p_process, p_call,
            p_input_tokens + p_cache_write_tokens + p_cache_read_tokens + p_output_tokens, COALESCE(p_cost, 0));
    ELSIF first.attempt IS NULL THEN
        RAISE EXCEPTION 'this attempt was never claimed, or has ended already' USING ERRCODE = 'TY002';
    END IF;
    IF first.attempt IS NOT NULL THEN
        RETURN NEXT first;
    ELSE
        RETURN NEXT mine;
    END IF;
END
$$;
