CREATE TABLE runs (
	id          TEXT PRIMARY KEY,
	stamp       TEXT NOT NULL, -- changes with the bundle; tells a stale row
	label       TEXT NOT NULL,
	suite       TEXT NOT NULL,
	experiment  TEXT NOT NULL, -- in words; empty for a run that varies nothing
	pair        TEXT NOT NULL, -- the run that it was measured together with; empty for none
	stage       TEXT NOT NULL, -- empty for a run that is none
	target      TEXT NOT NULL,
	place       TEXT NOT NULL,
	created     INTEGER NOT NULL, -- nanoseconds since 1970
	added       INTEGER NOT NULL, -- the same; when the run came into the store
	status      TEXT NOT NULL,
	source      TEXT NOT NULL,
	format      TEXT NOT NULL,
	cells       INTEGER NOT NULL,
	repetitions INTEGER NOT NULL
) STRICT
