package store

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store/clock"
)

// Config is what Open needs. Zero values take the defaults below.
type Config struct {
	Path         string        // directory; made if it is not there
	Shards       int           // how many owners the rows have
	Stall        time.Duration // decisions that wait longer for the disk mean that it stalls
	SyncInterval time.Duration // how long durability async may lag behind
	HotRows      int           // counters that are kept in memory beside their rows on disk
	HotBytes     int64         // bytes of responses that are kept in memory beside their rows on disk
	VolatileRows int           // counters of durability none, at most
	Logger       *slog.Logger
	Observer     Observer     // none if nil
	Clock        clock.Source // the machine's if nil
	FS           vfs.FS       // the disk if nil
	// Fatal is called once, when the store has died: nothing can be made durable any more, and only a
	// restart helps. It is expected to end the process. If it returns, the goroutine that met the failure
	// ends, and every decision is refused from then on.
	Fatal func(error)
}

func (c Config) withDefaults() Config {
	setDefault(&c.Shards, 16)
	setDefault(&c.Stall, time.Second)
	setDefault(&c.SyncInterval, 100*time.Millisecond)
	setDefault(&c.HotRows, 1<<20)
	setDefault(&c.HotBytes, 64<<20)
	setDefault(&c.VolatileRows, 1<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = ignore{}
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Fatal == nil {
		c.Fatal = func(error) {}
	}
	return c
}

func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}
