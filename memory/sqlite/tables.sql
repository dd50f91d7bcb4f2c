-- One row a thread.
CREATE TABLE thread (
  id        INTEGER PRIMARY KEY,
  name      TEXT    NOT NULL UNIQUE, -- chat.ThreadID
  platform  TEXT    NOT NULL,
  seq       INTEGER NOT NULL, -- of the last entry of the log
  base      INTEGER NOT NULL DEFAULT 0, -- the log is loaded from here on
  woken     INTEGER NOT NULL DEFAULT 0, -- since when it waits for a run or has one; 0: neither
  wake_at   INTEGER NOT NULL DEFAULT 0, -- deadline; 0: none
  touched   INTEGER NOT NULL, -- to the second
  gone      INTEGER NOT NULL DEFAULT 0, -- 1: its time was over, and it was erased
  last_ref  TEXT    NOT NULL DEFAULT '', -- the latest message
  last_sent INTEGER NOT NULL DEFAULT 0  -- microseconds; every other time is in milliseconds
);
CREATE INDEX thread_woken ON thread (woken) WHERE woken > 0;
CREATE INDEX thread_wake_at ON thread (wake_at) WHERE wake_at > 0;
CREATE INDEX thread_touched ON thread (touched) WHERE gone = 0;

-- What entries say. A row is written once and then never moved: log, inbox and
-- waiting say where it is.
CREATE TABLE entry (
  id   INTEGER PRIMARY KEY,
  at   INTEGER NOT NULL,
  kind TEXT    NOT NULL,
  body BLOB    NOT NULL -- the envelope of memory.Encode
);

CREATE TABLE log (
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  entry  INTEGER NOT NULL,
  PRIMARY KEY (thread, seq)
) WITHOUT ROWID;

CREATE TABLE inbox (
  thread INTEGER NOT NULL,
  n      INTEGER NOT NULL, -- the order
  entry  INTEGER NOT NULL,
  PRIMARY KEY (thread, n)
) WITHOUT ROWID;

-- Entries that name a message which no thread is known for yet.
CREATE TABLE waiting (
  ref   BLOB    NOT NULL, -- as in ref
  entry INTEGER NOT NULL,
  at    INTEGER NOT NULL,
  PRIMARY KEY (ref, entry)
) WITHOUT ROWID;
CREATE INDEX waiting_at ON waiting (at);

-- Event ids and messages are kept as in keys.go.
CREATE TABLE event (id BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX event_at ON event (at);

CREATE TABLE ref (ref BLOB PRIMARY KEY, thread INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX ref_thread ON ref (thread);

CREATE TABLE pending (
  thread INTEGER NOT NULL,
  call   TEXT    NOT NULL,
  ref    TEXT    NOT NULL,
  PRIMARY KEY (thread, call)
) WITHOUT ROWID;

-- thread is the name in the line; text is the encrypted reason.
CREATE TABLE audit (id INTEGER PRIMARY KEY, thread TEXT NOT NULL, line BLOB NOT NULL, text BLOB);
CREATE INDEX audit_thread ON audit (thread);
-- The end of each thread's chain of audit lines.
CREATE TABLE chain (thread TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;

-- The keys of pseudonyms.
CREATE TABLE person (id TEXT PRIMARY KEY, key BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE blob (
  thread  INTEGER NOT NULL,
  name    TEXT    NOT NULL,
  size    INTEGER NOT NULL,
  content INTEGER NOT NULL,
  PRIMARY KEY (thread, name)
) WITHOUT ROWID;
CREATE TABLE content (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
-- Content that no blob has any more: it is erased file by file, since many at once
-- would hold everybody up.
CREATE TABLE rubbish (content INTEGER PRIMARY KEY);

CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX counter_until ON counter (until);

-- What stays of an erased log so that nothing happens twice: the entries before
-- a place, until they have served.
CREATE TABLE remains (
  thread INTEGER PRIMARY KEY,
  before INTEGER NOT NULL,
  since  INTEGER NOT NULL
);
CREATE INDEX remains_since ON remains (since);

-- Numbers of the whole file. bytes: of all blobs, kept by the triggers. floor: the
-- highest seq of the threads whose rows are deleted, where new ones go on, so that
-- no seq comes twice. ping: for a write that means nothing.
CREATE TABLE number (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO number (name, value) VALUES ('bytes', 0), ('floor', 0), ('ping', 0);
CREATE TRIGGER blob_kept AFTER INSERT ON blob BEGIN
  UPDATE number SET value = value + new.size WHERE name = 'bytes';
END;
CREATE TRIGGER blob_dropped AFTER DELETE ON blob BEGIN
  UPDATE number SET value = value - old.size WHERE name = 'bytes';
  INSERT INTO rubbish (content) VALUES (old.content);
END;

-- A few values that adapters keep over a restart.
CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
