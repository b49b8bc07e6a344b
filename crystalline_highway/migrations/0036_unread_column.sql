-- Nothing reads or writes when an occasion was written back; builds before this one name the column nowhere either.

ALTER TABLE highway_written DROP COLUMN written_at;
