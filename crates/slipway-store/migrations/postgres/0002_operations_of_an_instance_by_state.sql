-- Who is unfinished beside me? Asked by every enqueue and every end, about one instance and a state. With
-- the state in this index, no planner takes the one over all instances in that state instead.
DROP INDEX operations_instance;
CREATE INDEX operations_instance ON operations (instance_id, state, created_at);
