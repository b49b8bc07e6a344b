-- Words that few people of a scene use, hashed: the index's vectors do not know them, so they are looked up as they are.

ALTER TABLE field_chunks ADD COLUMN rare integer[];
