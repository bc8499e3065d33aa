-- The processes a replica can run, as a JSON list; null from a program that does not tell.
ALTER TABLE replicas ADD COLUMN known TEXT;
