-- One row a thread. It stays when the thread is forgotten or expires, so that
-- seq, and with it every id made of it, is never used twice.
CREATE TABLE IF NOT EXISTS thread (
  id        INTEGER PRIMARY KEY,
  name      TEXT    NOT NULL UNIQUE, -- chat.ThreadID
  platform  TEXT    NOT NULL,
  seq       INTEGER NOT NULL DEFAULT 0, -- of the last entry
  base      INTEGER NOT NULL DEFAULT 0, -- the log is loaded from here on
  woken     INTEGER NOT NULL DEFAULT 0, -- since when it waits for a run or has one; 0: neither
  wake_at   INTEGER NOT NULL DEFAULT 0, -- deadline; 0: none
  touched   INTEGER NOT NULL,
  last_ref  TEXT    NOT NULL DEFAULT '', -- the latest message
  last_sent INTEGER NOT NULL DEFAULT 0  -- microseconds; every other time is in milliseconds
);
CREATE INDEX IF NOT EXISTS thread_woken ON thread (woken) WHERE woken > 0;
CREATE INDEX IF NOT EXISTS thread_wake_at ON thread (wake_at) WHERE wake_at > 0;
CREATE INDEX IF NOT EXISTS thread_touched ON thread (platform, touched);

CREATE TABLE IF NOT EXISTS log (
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  body   BLOB    NOT NULL,
  PRIMARY KEY (thread, seq)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS inbox (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  thread INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  body   BLOB    NOT NULL
);
CREATE INDEX IF NOT EXISTS inbox_thread ON inbox (thread);

CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS event_at ON event (at);

CREATE TABLE IF NOT EXISTS ref (ref TEXT PRIMARY KEY, thread INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ref_thread ON ref (thread);

-- Entries that name a message which no thread is known for yet.
CREATE TABLE IF NOT EXISTS waiting (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  ref  TEXT    NOT NULL,
  at   INTEGER NOT NULL,
  kind TEXT    NOT NULL,
  body BLOB    NOT NULL
);
CREATE INDEX IF NOT EXISTS waiting_ref ON waiting (ref);

CREATE TABLE IF NOT EXISTS pending (
  thread INTEGER NOT NULL,
  call   TEXT    NOT NULL,
  ref    TEXT    NOT NULL,
  PRIMARY KEY (thread, call)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS audit_thread ON audit (thread);

CREATE TABLE IF NOT EXISTS blob (
  thread INTEGER NOT NULL,
  name   TEXT    NOT NULL,
  data   BLOB    NOT NULL,
  PRIMARY KEY (thread, name)
);

CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
