package sqlitestore

import (
	"log/slog"
	"sync/atomic"
)

// Config tunes a Store. The zero Config is for production.
type Config struct {
	// CacheBytes bounds, roughly, the memory for decoded tasks. Defaults to
	// 48 MiB, about 20,000 tasks of five steps.
	CacheBytes int64
	// PageCacheBytes bounds the writer's page cache. More is not faster: the
	// system caches the file too, and when a table grows SQLite looks through
	// its whole cache at the commit. Defaults to 8 MiB.
	PageCacheBytes int64
	// Readers is how many read-only connections there are, each with a page
	// cache of 4 MiB. Defaults to 4.
	Readers int
	// CheckpointPages is how many pages of 4 KiB go to the WAL before they are
	// copied into the file. More makes checkpoints rarer and the WAL larger.
	// Defaults to 16,384 (64 MiB).
	CheckpointPages int
	// MaxBytes bounds the file (without its WAL): past it writes get
	// store.ErrFull. Defaults to no bound but the disk's.
	MaxBytes int64
	// Logger is told of checkpoints that fail; they are tried again. Defaults
	// to no logging.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.CacheBytes <= 0 {
		c.CacheBytes = 48 << 20
	}
	if c.PageCacheBytes <= 0 {
		c.PageCacheBytes = 8 << 20
	}
	if c.Readers <= 0 {
		c.Readers = 4
	}
	if c.CheckpointPages <= 0 {
		c.CheckpointPages = 16_384
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Stats counts what a Store did since it was opened.
type Stats struct {
	// Commits are operations that changed something; Groups the transactions,
	// with one fsync each, that made them durable.
	Commits, Groups int64
	// Checkpoints are copies of the WAL into the file, in the background or by
	// the writer.
	Checkpoints int64
	// CacheHits and CacheMisses count the tasks found, and not found, in memory
	// by Load and Commit.
	CacheHits, CacheMisses int64
}

type counters struct {
	commits, groups, checkpoints, hits, misses atomic.Int64
}

// Stats returns the counters. They may be a moment apart.
func (s *Store) Stats() Stats {
	return Stats{
		Commits:     s.count.commits.Load(),
		Groups:      s.count.groups.Load(),
		Checkpoints: s.count.checkpoints.Load(),
		CacheHits:   s.count.hits.Load(),
		CacheMisses: s.count.misses.Load(),
	}
}
