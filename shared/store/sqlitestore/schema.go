package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"

	"triad/shared/store"
)

// applicationID marks a file as a Triad store ("TRID"); schemaVersion is the
// version of the tables below.
const (
	applicationID = 0x54524944
	schemaVersion = 1
)

// pageSize suits records of about 800 bytes; see the benchmarks.
const pageSize = 4_096

// schema keys everything of a task by seq, its place in the order of creation,
// so that a commit touches one page and no index: id, shard and due change
// rarely, and only a write that changes them touches theirs. A finished task is
// in no index but that of its id.
const schema = `
CREATE TABLE tasks(
  seq      INTEGER PRIMARY KEY,
  id       TEXT    NOT NULL UNIQUE,
  version  INTEGER NOT NULL,
  shard    INTEGER NOT NULL,
  due      INTEGER NOT NULL, -- CompleteBy, milliseconds; 0: nothing to do
  workflow TEXT    NOT NULL,
  tenant   TEXT    NOT NULL,
  state    TEXT    NOT NULL,
  record   TEXT    NOT NULL  -- JSON: the truth; the columns are copies
);
CREATE INDEX tasks_due ON tasks(shard, due) WHERE due > 0;
CREATE INDEX tasks_failed ON tasks(state) WHERE state = 'Error';
CREATE TABLE orders(seq INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE outputs(
  seq INTEGER NOT NULL, step TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(seq, step)
) WITHOUT ROWID;
CREATE TABLE notices(
  queue TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
  PRIMARY KEY(queue, seq)
) WITHOUT ROWID;
CREATE TABLE alerts(seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE rejected(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL
);
CREATE TABLE definitions(
  name TEXT NOT NULL, version INTEGER NOT NULL, source BLOB NOT NULL,
  PRIMARY KEY(name, version)
) WITHOUT ROWID;
-- The highest number given to a notice, once that notice is gone.
CREATE TABLE marks(name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
`

// dsn names the file for the driver, with the pragmas of one connection.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// prepare makes the file a store, or checks that it is one. A file that is
// something else is left as it is.
func prepare(ctx context.Context, path string) error {
	// Orders are nobody else's business: a new file is for its owner alone, and
	// SQLite gives the WAL the same rights.
	if f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close() // nothing was written
	}
	db, err := sql.Open("sqlite", dsn(path, "rwc"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	fresh, err := identify(ctx, db, path)
	if err != nil {
		return err
	}
	if fresh {
		return create(ctx, db)
	}
	// A write that is taken back finds out now whether the file can be written.
	_, err = db.ExecContext(ctx, fmt.Sprintf(`
		BEGIN IMMEDIATE; PRAGMA user_version = %d; ROLLBACK;
		PRAGMA journal_mode = WAL;`, schemaVersion))
	return err
}

// identify reports whether the file is new, or an error if it is not ours.
func identify(ctx context.Context, db *sql.DB, path string) (fresh bool, err error) {
	var application, version, tables int64
	err = db.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return false, err
	case application == 0 && version == 0 && tables == 0:
		return true, nil
	case application != applicationID:
		return false, fmt.Errorf("%s is a database of another program: use another file", path)
	case version > schemaVersion:
		return false, fmt.Errorf("%s has schema version %d, made by a newer triad; this one knows %d: upgrade triad",
			path, version, schemaVersion)
	case version < schemaVersion || tables == 0:
		return false, fmt.Errorf("%w: %s has schema version %d and %d tables", store.ErrDamaged, path, version, tables)
	}
	return false, nil
}

// create writes the schema. If we stop before the commit, the file is as good
// as new.
func create(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf(`
		PRAGMA page_size = %d;
		PRAGMA journal_mode = WAL;
		PRAGMA synchronous = FULL;
		BEGIN IMMEDIATE;
		%s
		PRAGMA application_id = %d;
		PRAGMA user_version = %d;
		COMMIT;`, pageSize, schema, applicationID, schemaVersion))
	return err
}
