package store

import "time"

// Observer is told what the store does. It is called from the store's own goroutines and returns at once.
type Observer interface {
	// Applied is called after each batch of a shard, with its operations.
	Applied(shard, operations int)
	// Committed is called after each commit.
	Committed(Commit)
}

// Commit is what one commit was.
type Commit struct {
	Decisions int           // that rest on it
	Rows      int           // written, index entries and all
	Bytes     int           // of the write-ahead record
	Took      time.Duration // to write and sync
	Durable   time.Duration // from its first decision until that was durable
}

type ignore struct{}

func (ignore) Applied(int, int) {}
func (ignore) Committed(Commit) {}

// Stats is a moment of the embedded store.
type Stats struct {
	Commits      uint64        // since Open
	Pending      time.Duration // how long the oldest decision that must be durable has waited; 0 if none
	HotRows      int           // counters in memory
	HotBytes     int64         // of responses in memory
	VolatileRows int           // counters of durability none
}
