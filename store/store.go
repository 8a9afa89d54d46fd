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
	// ErrOlder is returned by Open when the directory was written before the first release, in a format that
	// does not count its rows.
	ErrOlder = errors.New("store: data directory has the format of an early version of Porch; move it away")
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
	// Due appends to entries the next rows that may have expired, at most cap(entries) in all. None means that
	// nothing is due. The caller has the owner of each apply its Expire, and calls Swept when all of them have.
	// One goroutine at a time calls Due and Swept. Errors are those of reading.
	Due(entries []Entry) ([]Entry, error)
	// Swept says that the owners have applied what Due has given.
	Swept()
	// DueOf appends to entries rows of one policy that may have expired, at most cap(entries) in all: those of a
	// policy that is full. For a moment after Fruitless it gives none.
	DueOf(policy PolicyID, entries []Entry) ([]Entry, error)
	// Fruitless says that none of the rows of the policy that were looked at had expired.
	Fruitless(policy PolicyID)
	// Rows is how many rows a policy has, places for rows to come among them.
	Rows(policy PolicyID) int64
	// Time is store time: it only moves forward, also over a restart.
	Time() time.Duration
	// Ready is nil while new decisions can be taken, else ErrStalled, ErrDead or ErrClosed.
	Ready() error
	// Close makes what is decided durable, and lets go of everything.
	Close() error
}
