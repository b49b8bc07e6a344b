-- Who is to be told of events is asked every two seconds, of the processes that changed lately alone.

CREATE INDEX processes_updated ON processes (updated_at);
