# SQLite: rollback journals of each kind, write-ahead log, VACUUM, a hot journal, attached files.
# varying: persist.db-journal
for journal in delete truncate persist wal memory off; do
    sqlite3 "$journal.db" <<END
PRAGMA journal_mode=$journal;
PRAGMA page_size=1024;
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
CREATE INDEX i ON t(b);
BEGIN;
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<3000)
    INSERT INTO t SELECT x, 'row ' || x FROM n;
COMMIT;
BEGIN; DELETE FROM t WHERE a % 3 = 0; ROLLBACK;
DELETE FROM t WHERE a % 2 = 0;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(a) FROM t;
END
done
sqlite3 delete.db "VACUUM INTO 'vacuumed.db'" ".backup saved.db" ".dump" >dump.sql
sqlite3 restored.db <dump.sql
sqlite3 wal.db "ATTACH 'truncate.db' AS o; BEGIN; DELETE FROM o.t WHERE a<9; DELETE FROM t; COMMIT;"
sqlite3 wal.db "PRAGMA wal_checkpoint(TRUNCATE); SELECT count(*) FROM t"
/usr/bin/python3 - <<'END'
import os, sqlite3
if os.fork() == 0:  # leaves a hot journal
    db = sqlite3.connect("delete.db", isolation_level=None)
    db.execute("PRAGMA cache_size=1")
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE t SET b = b || 'x'")
    os._exit(0)
os.wait()
print(sorted(n for n in os.listdir() if n.startswith("delete")))
db = sqlite3.connect("delete.db")
print(db.execute("SELECT count(*) FROM t WHERE b LIKE '%x'").fetchone())
db.execute("CREATE TEMP TABLE big AS SELECT * FROM t, (SELECT 1 UNION SELECT 2)")
END
sqlite3 -readonly missing.db "SELECT 1 FROM t" 2>&1 || echo "read-only: $?"
