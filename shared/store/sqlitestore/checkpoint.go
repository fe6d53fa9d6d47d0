package sqlitestore

import (
	"database/sql/driver"
	"errors"
	"sync/atomic"

	"modernc.org/sqlite"
)

// checkpointPassive copies as many pages as it can without waiting for anybody.
const checkpointPassive = `PRAGMA wal_checkpoint(PASSIVE)`

// checkpoints copies the WAL into the file. A checkpoint on the writer's own
// connection would hold up everybody for as long as it takes (tens of
// milliseconds for some MiB). So once enough was written another connection
// copies in the background, which holds up nobody; when it is done the writer
// copies the little that came meanwhile, and the WAL starts over.
type checkpoints struct {
	store *Store
	// pages is how many have gone to the WAL since the writer's checkpoint;
	// written is the connection's count at the last look.
	pages, written int
	status         sqlite.DBStatus
	inline         *statement

	// busy is true from the start of a copy in the background until the
	// writer's own; copied once the former is done.
	busy       bool
	copied     atomic.Bool
	conn       driver.Conn
	background *statement
	start      chan struct{}
	done       chan struct{}
}

func startCheckpoints(s *Store, w *writer) (*checkpoints, error) {
	status, ok := w.conn.(sqlite.DBStatus)
	if !ok {
		return nil, errors.New("the SQLite driver does not count the pages it writes")
	}
	conn, err := (&sqlite.Driver{}).Open(dsn(s.path, "rw", "synchronous(full)", "cache_size(-64)"))
	if err != nil {
		return nil, err
	}
	background, err := newStatement(conn, checkpointPassive)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &checkpoints{
		store: s, status: status, inline: w.do.checkpoint, conn: conn, background: background,
		start: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go c.run()
	return c, nil
}

// consider is called by the writer between two groups.
func (c *checkpoints) consider() {
	if written, _, err := c.status.Status(sqlite.DBStatusCacheWrite, false); err == nil {
		c.pages += written - c.written
		c.written = written
	}
	switch {
	case c.busy && c.copied.Load():
		c.busy, c.pages = false, 0
		c.perform(c.inline)
	case !c.busy && c.pages >= c.store.config.CheckpointPages:
		c.busy = true
		c.copied.Store(false)
		c.start <- struct{}{}
	}
}

// run copies in the background: all there is, then what came during that.
func (c *checkpoints) run() {
	defer close(c.done)
	for range c.start {
		c.perform(c.background)
		c.perform(c.background)
		c.copied.Store(true)
	}
}

// perform copies as much as readers allow. A failure costs nothing but a WAL
// that grows until the next try.
func (c *checkpoints) perform(s *statement) {
	if _, err := s.exec(); err != nil {
		c.store.config.Logger.Warn("checkpoint failed", "store", c.store.path, "error", translate(c.store.path, err))
		return
	}
	c.store.count.checkpoints.Add(1)
}

// stop ends the background goroutine, after the writer's has ended.
func (c *checkpoints) stop() {
	close(c.start)
	<-c.done
	if err := errors.Join(c.background.stmt.Close(), c.conn.Close()); err != nil {
		c.store.config.Logger.Warn("closing the checkpoint's connection", "store", c.store.path, "error", err)
	}
}
