package store

import (
	"errors"
	"time"
)

var (
	// ErrLocked is returned by Open when another process, or another store of this one, uses the directory.
	ErrLocked = errors.New("store: data directory is in use by another process")
	// ErrNewer is returned by Open when the directory was written by a newer version than this one.
	ErrNewer = errors.New("store: data directory was written by a newer version of Porch")
	// ErrForeign is returned by Open when the directory holds a database that is not Porch's.
	ErrForeign = errors.New("store: data directory holds another program's database")
	// ErrCorrupt is returned when a row cannot be read as any layout that was ever written.
	ErrCorrupt = errors.New("store: row is damaged")
	// ErrStalled is returned by Ready while the disk keeps decisions waiting for longer than Config.Stall.
	ErrStalled = errors.New("store: the disk stalls")
	// ErrDead is returned once a write or sync has failed: what is on disk is no longer known, and only a
	// restart of the process helps.
	ErrDead = errors.New("store: dead after a failed write")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store: closed")
)

// Durability says what a decision waits for before anyone sees it.
type Durability uint8

// The durabilities.
const (
	Sync  Durability = iota // on disk
	Async                   // on disk within the sync interval
	None                    // in memory only
)

// String is the name that configurations use.
func (d Durability) String() string {
	switch d {
	case Sync:
		return "sync"
	case Async:
		return "async"
	default:
		return "none"
	}
}

// Store is an engine that keeps rows. Rows of one key are only ever named by operations of one shard.
type Store interface {
	// Shards is how many owners the rows have: the first argument of Apply is below it.
	Shards() int
	// Key derives the key of a row from the identity of its policy and the bytes that are counted by.
	Key(identity, key []byte) RowKey
	// Policy derives the id of a policy from its identity.
	Policy(identity []byte) PolicyID
	// Apply decides the operations of batch, in order, and fills in their results. It is called by one
	// goroutine at a time for each shard. It waits for reads at most, never for a write to be durable.
	Apply(shard int, batch []*Op)
	// Time is store time: it only moves forward, also over a restart.
	Time() time.Duration
	// Ready is nil while new decisions can be taken, else ErrStalled, ErrDead or ErrClosed.
	Ready() error
	// Close makes what is decided durable, and lets go of everything.
	Close() error
}
