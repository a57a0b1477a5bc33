"""The SQL of the queue of updates, all of it. `scope` is the text of a scope, times are seconds."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS pending (
    scope TEXT NOT NULL, thread TEXT NOT NULL, id TEXT NOT NULL, said TEXT NOT NULL,
    since REAL NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, thread)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pending_due ON pending (due);
CREATE TABLE IF NOT EXISTS seen (
    scope TEXT NOT NULL, thread TEXT NOT NULL, ids TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (scope, thread)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_at ON seen (at);
CREATE TABLE IF NOT EXISTS forgotten (scope TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
"""
SEEN = "SELECT ids FROM seen WHERE scope = ? AND thread = ?"
MARK_SEEN = """
INSERT INTO seen (scope, thread, ids, at) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, thread) DO UPDATE SET ids = excluded.ids, at = excluded.at
"""
# The oldest marks beyond so many go; a thread that nobody came back to for so long is read anew at worst.
PRUNE_SEEN = """
DELETE FROM seen WHERE at < (SELECT at FROM seen ORDER BY at DESC LIMIT 1 OFFSET ?)
"""
WAITING = "SELECT id, said, since FROM pending WHERE scope = ? AND thread = ?"
PUT = """
INSERT INTO pending (scope, thread, id, said, since, due) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (scope, thread) DO UPDATE SET
    id = excluded.id, said = excluded.said, due = excluded.due, attempts = 0
"""
DUE = """
SELECT p.scope, p.thread, p.id, p.said, p.attempts, coalesce(f.times, 0)
FROM pending p LEFT JOIN forgotten f ON f.scope = p.scope
WHERE p.due <= ? ORDER BY p.due LIMIT 1
"""
NEXT_DUE = "SELECT min(due) FROM pending"
OF_SCOPE = "SELECT thread, said FROM pending WHERE scope = ?"
COUNT = "SELECT count(*) FROM pending WHERE scope = ?"
TAKE_OUT = "DELETE FROM pending WHERE scope = ? AND thread = ? AND id = ?"
LATER = "UPDATE pending SET due = ?, attempts = attempts + 1 WHERE scope = ? AND thread = ? AND id = ?"
DROP_SCOPE = "DELETE FROM pending WHERE scope = ?"
TIMES_FORGOTTEN = "SELECT times FROM forgotten WHERE scope = ?"
FORGET = """
INSERT INTO forgotten (scope, times) VALUES (?, 1) ON CONFLICT (scope) DO UPDATE SET times = times + 1
"""
