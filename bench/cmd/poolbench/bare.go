package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// bare is Pebble alone: one goroutine that writes rows of the same size under random keys, one synced commit
// after another, and decides nothing.
type bare struct{ db *pebble.DB }

// Sizes of a counter's key and value, and of the clock row of each commit.
const (
	keySize, valueSize = 17, 32
	clockSize          = 62
)

func openBare(work string, l load) (*bare, error) {
	db, err := pebble.Open(filepath.Join(work, "bare"), &pebble.Options{
		FormatMajorVersion:          pebble.FormatWALSyncChunks,
		MemTableSize:                32 << 20,
		MemTableStopWritesThreshold: 4,
		Logger:                      silent{},
	})
	return &bare{db: db}, err
}

type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) { panic("pebble has failed") }

func (b *bare) close() error { return b.db.Close() }

// drive commits size records at a time. A part of a record goes to every so many commits.
func (b *bare) drive(size float64, l load) (turn, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	var key [keySize]byte
	var value [valueSize]byte
	var records, commits int
	began := time.Now()
	for time.Since(began) < l.duration {
		commits++
		batch := b.db.NewBatch()
		for target := int(math.Round(size * float64(commits))); records < target; records++ {
			// Spread like row keys, which are hashes.
			binary.LittleEndian.PutUint64(key[1:], rng.Uint64N(uint64(l.keys))*0x9e3779b97f4a7c15)
			if err := batch.Set(key[:], value[:], nil); err != nil {
				return turn{}, err
			}
		}
		if err := batch.Set([]byte("mclock"), make([]byte, clockSize), nil); err != nil {
			return turn{}, err
		}
		if err := batch.Commit(pebble.Sync); err != nil {
			return turn{}, err
		}
		if err := batch.Close(); err != nil {
			return turn{}, err
		}
	}
	return turn{perSecond: float64(records) / time.Since(began).Seconds(), batch: size}, nil
}
