package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/porchedge/porch/store/clock"
)

// pebbleFormat is the format of Pebble's own files. It is raised by a command, never by an upgrade of the
// library, so that a former version of Porch can read what this one wrote. This one marks synced chunks of
// the write-ahead log, so that a torn tail is told from a damaged middle.
const pebbleFormat = pebble.FormatWALSyncChunks

// Memory for hot data of a few dozen bytes a row: large memtables, so that a row is overwritten many times
// before it reaches a table on disk, and a small cache, since hot rows are in memory anyway.
const (
	memTableSize = 32 << 20
	cacheSize    = 16 << 20
)

// header is what a store says of itself before any row is read.
type header struct {
	secret   []byte
	clock    *clock.Clock
	capacity *capacity
}

// openDatabase opens or makes the database in dir. An existing one is read without a change to the disk
// first, so that a store of a newer version is left as it is.
func openDatabase(dir *directory, cfg Config, h *health) (*pebble.DB, header, error) {
	desc, err := pebble.Peek(dir.path, dir.fs)
	if err != nil {
		return nil, header{}, fmt.Errorf("store: data directory: %w", err)
	}
	var head header
	if desc.Exists {
		if desc.FormatMajorVersion > pebbleFormat {
			return nil, header{}, fmt.Errorf("%w: %s", ErrNewer, dir.path)
		}
		if head, err = inspect(dir, cfg, h); err != nil {
			return nil, header{}, err
		}
	}
	db, err := pebble.Open(dir.path, pebbleOptions(dir, cfg, h))
	if err != nil {
		return nil, header{}, fmt.Errorf("store: open %s: %w", dir.path, err)
	}
	if head.secret == nil {
		if head, err = initialise(db, cfg); err != nil {
			return nil, header{}, errors.Join(err, db.Close())
		}
	}
	return db, head, nil
}

func pebbleOptions(dir *directory, cfg Config, h *health) *pebble.Options {
	o := &pebble.Options{
		FS:                          dir.fs,
		Lock:                        dir.lock,
		FormatMajorVersion:          pebbleFormat,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: 4,
		CacheSize:                   cacheSize,
		Logger:                      pebbleLogger{log: cfg.Logger, health: h},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// inspect reads the header of an existing store. A database without any row is one whose first open was
// cut short: it has no header yet.
func inspect(dir *directory, cfg Config, h *health) (head header, err error) {
	o := pebbleOptions(dir, cfg, h)
	o.ReadOnly = true
	db, err := pebble.Open(dir.path, o)
	if err != nil {
		return header{}, fmt.Errorf("store: open %s: %w", dir.path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	format, err := read(db, keyFormat)
	if err != nil {
		return header{}, err
	}
	if len(format) < 4 {
		return header{}, foreignUnlessEmpty(db, dir.path)
	}
	switch version := binary.LittleEndian.Uint32(format); {
	case version > formatVersion:
		return header{}, fmt.Errorf("%w: %s", ErrNewer, dir.path)
	case version < formatVersion:
		return header{}, fmt.Errorf("%w: %s", ErrOlder, dir.path)
	}
	if head.secret, err = read(db, keySecret); err != nil {
		return header{}, err
	}
	if len(head.secret) != secretSize {
		return header{}, fmt.Errorf("%w: secret of %d bytes", ErrCorrupt, len(head.secret))
	}
	written, err := read(db, keyClock)
	if err != nil {
		return header{}, err
	}
	last, err := getClock(written)
	if err != nil {
		return header{}, err
	}
	if head.clock, err = clock.Resume(cfg.Clock, last); err != nil {
		return header{}, err
	}
	head.capacity, err = readCapacity(db)
	return head, err
}

func foreignUnlessEmpty(db *pebble.DB, path string) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	if it.First() {
		err = fmt.Errorf("%w: %s", ErrForeign, path)
	}
	return errors.Join(err, it.Close())
}

// read copies a row; nil if it is not there.
func read(db *pebble.DB, name []byte) ([]byte, error) {
	value, closer, err := db.Get(name)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: read: %w", err)
	}
	defer closer.Close()
	return append([]byte(nil), value...), nil
}

// initialise writes the header of a new store, in one record.
func initialise(db *pebble.DB, cfg Config) (header, error) {
	c, err := clock.Start(cfg.Clock)
	if err != nil {
		return header{}, err
	}
	secret := make([]byte, secretSize)
	rand.Read(secret)
	b := db.NewBatch()
	defer b.Close()
	for _, row := range []struct{ name, value []byte }{
		{keyFormat, binary.LittleEndian.AppendUint32(nil, formatVersion)},
		{keySecret, secret},
		{keyClock, appendClock(nil, c.Read())},
	} {
		if err := b.Set(row.name, row.value, nil); err != nil {
			return header{}, err
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return header{}, fmt.Errorf("store: write the header: %w", err)
	}
	return header{secret: secret, clock: c, capacity: newCapacity()}, nil
}
