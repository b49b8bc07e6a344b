-- Relays are told that a message may be due (records/process/changes.py): it is new, or nothing of its lane is on its way any more.
CREATE FUNCTION notify_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tongyao_messages', '');
    RETURN NULL;
END $$;
CREATE TRIGGER messages_notified AFTER INSERT ON messages FOR EACH STATEMENT EXECUTE FUNCTION notify_message();
CREATE TRIGGER messages_free_notified AFTER UPDATE OF leased_until, state ON messages
    FOR EACH ROW WHEN (NEW.leased_until IS NULL) EXECUTE FUNCTION notify_message();
