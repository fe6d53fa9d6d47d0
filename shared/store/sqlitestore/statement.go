package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// statement is a prepared statement of the writer's connection. It stays
// prepared from one call to the next, unlike one made by database/sql's Exec.
type statement struct {
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
	}
	args []driver.NamedValue
}

// newStatement prepares sql, a single statement.
func newStatement(conn driver.Conn, sql string) (*statement, error) {
	prepared, err := conn.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", sql, err)
	}
	stmt, ok := prepared.(interface {
		driver.Stmt
		driver.StmtExecContext
	})
	if !ok {
		return nil, fmt.Errorf("preparing %q: the driver's statements can't be executed", sql)
	}
	return &statement{stmt: stmt}, nil
}

// exec runs the statement and returns how many rows it changed. Values are
// int64, string or []byte.
func (s *statement) exec(values ...driver.Value) (changed int64, err error) {
	s.args = s.args[:0]
	for i, v := range values {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	// Without a context that can end: an operation is never broken off midway.
	result, err := s.stmt.ExecContext(context.Background(), s.args)
	clear(s.args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statements are all that the writer runs.
type statements struct {
	begin, commit, rollback, checkpoint       *statement
	insertTask, updateRecord, updateTask      *statement
	insertOrder, insertOutput                 *statement
	insertNotice, deleteNotice, markNotice    *statement
	insertAlert                               *statement
	insertRejected, deleteRejected, insertDef *statement

	all []*statement
}

func newStatements(conn driver.Conn) (*statements, error) {
	s := &statements{}
	for into, sql := range map[**statement]string{
		&s.begin:      `BEGIN IMMEDIATE`,
		&s.commit:     `COMMIT`,
		&s.rollback:   `ROLLBACK`,
		&s.checkpoint: checkpointPassive,
		&s.insertTask: `INSERT INTO tasks(seq, id, version, shard, due, workflow, tenant, state, record)
			VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`,
		// The hot one: it leaves every indexed column alone.
		&s.updateRecord: `UPDATE tasks SET version = ?, record = ? WHERE seq = ? AND version = ?`,
		&s.updateTask: `UPDATE tasks SET version = ?, record = ?, shard = ?, due = ?, workflow = ?, tenant = ?, state = ?
			WHERE seq = ? AND version = ?`,
		&s.insertOrder:    `INSERT INTO orders(seq, body) VALUES(?, ?)`,
		&s.insertOutput:   `INSERT OR REPLACE INTO outputs(seq, step, body) VALUES(?, ?, ?)`,
		&s.insertNotice:   `INSERT INTO notices(queue, seq, id, body) VALUES(?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`,
		&s.deleteNotice:   `DELETE FROM notices WHERE queue = ? AND seq = ?`,
		&s.markNotice:     `INSERT OR REPLACE INTO marks(name, seq) VALUES('notices', ?)`,
		&s.insertAlert:    `INSERT INTO alerts(seq, id, body) VALUES(?, ?, ?) ON CONFLICT(id) DO NOTHING`,
		&s.insertRejected: `INSERT INTO rejected(queue, body, reason, at) VALUES(?, ?, ?, ?)`,
		&s.deleteRejected: `DELETE FROM rejected WHERE seq = ?`,
		&s.insertDef: `INSERT INTO definitions(name, version, source) VALUES(?, ?, ?)
			ON CONFLICT(name, version) DO NOTHING`,
	} {
		prepared, err := newStatement(conn, sql)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		*into = prepared
		s.all = append(s.all, prepared)
	}
	return s, nil
}

func (s *statements) close() error {
	var errs []error
	for _, prepared := range s.all {
		errs = append(errs, prepared.stmt.Close())
	}
	return errors.Join(errs...)
}
