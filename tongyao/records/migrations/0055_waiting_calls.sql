-- Model calls that wait for an answer from outside (docs/models.md, "Delegated").

-- waiting: its request is stored, and somebody is to answer it. answered: the answer is stored, and the step has not read it yet.
ALTER TABLE model_calls DROP CONSTRAINT model_calls_state_check;
ALTER TABLE model_calls ADD CONSTRAINT model_calls_state_check
    CHECK (state IN ('claimed', 'waiting', 'answered', 'settled', 'failed', 'orphaned'));
ALTER TABLE model_calls
    ADD COLUMN call_id text UNIQUE,                              -- of calls that wait: what people type
    ADD COLUMN request_text_id uuid REFERENCES texts (id),       -- what is asked, as text; while it waits
    ADD COLUMN reply_text_id uuid REFERENCES texts (id),         -- the answer as it came, until the step has read it
    ADD COLUMN share text NOT NULL DEFAULT '',                   -- `person/ID`: the request shows this profile; `table`: what all said
    ADD COLUMN answerer text NOT NULL DEFAULT '',                -- who has it on lease, or has answered it
    ADD COLUMN leased_until timestamptz,
    ADD COLUMN reply_digest text,                                -- of the answer, by which its sender's repetition is known
    ADD COLUMN request_tokens integer NOT NULL DEFAULT 0;        -- estimated
CREATE INDEX model_calls_waiting ON model_calls (claimed_at) WHERE state = 'waiting';

-- A call that no longer waits keeps neither its request nor the unread reply, however its waiting ended.
CREATE FUNCTION model_call_ended_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM remove_texts(ARRAY[OLD.request_text_id, OLD.reply_text_id]);
    RETURN NULL;
END
$$;
CREATE TRIGGER model_call_ended_waiting AFTER UPDATE OF state ON model_calls FOR EACH ROW
    WHEN (OLD.state IN ('waiting', 'answered') AND NEW.state NOT IN ('waiting', 'answered'))
    EXECUTE FUNCTION model_call_ended_waiting();

-- Who was shown which request. `exempt`: the request does not count for what else they may be shown.
CREATE TABLE call_readers (
    call_id   text NOT NULL,
    answerer  text NOT NULL,
    share     text NOT NULL,
    exempt    boolean NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (call_id, answerer)
);
CREATE INDEX call_readers_by_answerer ON call_readers (answerer) WHERE NOT exempt;

-- Names of those who may read this profile beside others, or beside what all said, to answer model calls.
ALTER TABLE mandates ADD COLUMN answerers text[] NOT NULL DEFAULT '{}';

-- A token of the role `calls` opens model calls that wait, and nothing else. `step`: of one kind only.
ALTER TABLE tokens DROP CONSTRAINT tokens_role_check;
ALTER TABLE tokens ADD CONSTRAINT tokens_role_check CHECK (role IN ('operator', 'person', 'participant', 'calls'));
ALTER TABLE tokens DROP CONSTRAINT tokens_check;
ALTER TABLE tokens ADD CONSTRAINT tokens_person_check CHECK ((role IN ('operator', 'calls')) = (person IS NULL));
ALTER TABLE tokens DROP CONSTRAINT tokens_check1;
ALTER TABLE tokens ADD CONSTRAINT tokens_seat_check
    CHECK (role = 'calls' OR (role = 'participant') = (process_id IS NOT NULL AND alias IS NOT NULL));
ALTER TABLE tokens ADD COLUMN step text;

-- Claims a call before it is made. As before, and with two more outcomes: 'waiting' where the same question waits for an answer
-- from outside, 'answered' where its answer is stored and was not read yet.
CREATE OR REPLACE FUNCTION claim_call(
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

-- As before, and of calls whose answer came from outside too. Ends an attempt, with its texts where it settles, and counts what it used. Returns the attempt that counts: this one, or the one
-- that settled the same input before; then this one is superseded. Raises, and changes nothing: TY001 where the owner of the texts
-- was erased, TY002 where the attempt was never claimed or has ended.
CREATE OR REPLACE FUNCTION end_call(
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
            AND m.state IN ('claimed', 'answered', 'orphaned')
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
