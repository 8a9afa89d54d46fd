package clock

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Reading is all clocks at one moment.
type Reading struct {
	Store   time.Duration
	Wall    time.Time
	Elapsed time.Duration
	Boot    string
}

// Clock tells store time: an anchor plus the time since the machine was started. It is safe for use by
// several goroutines.
type Clock struct {
	source Source
	boot   string
	anchor time.Duration
	latest atomic.Int64 // the furthest store time that was read
}

// Start begins store time at zero, for a store that is new.
func Start(source Source) (*Clock, error) {
	boot, err := bootID(source)
	if err != nil {
		return nil, err
	}
	return &Clock{source: source, boot: boot, anchor: -source.Elapsed()}, nil
}

// Resume goes on after the last reading that a store has committed. Within one boot nothing but the time
// since the boot counts. After a reboot the wall clock says how long it took; if it runs behind, no time
// has passed. A step forward of the wall clock across a reboot counts as time that has passed, since
// nothing can tell them apart.
func Resume(source Source, last Reading) (*Clock, error) {
	boot, err := bootID(source)
	if err != nil {
		return nil, err
	}
	elapsed := source.Elapsed()
	passed := elapsed - last.Elapsed
	if boot != last.Boot {
		passed = source.Wall().Sub(last.Wall)
	}
	c := &Clock{source: source, boot: boot, anchor: last.Store + max(0, passed) - elapsed}
	c.latest.Store(int64(last.Store))
	return c, nil
}

func bootID(source Source) (string, error) {
	boot, err := source.BootID()
	if err == nil && len(boot) > 64 {
		err = fmt.Errorf("it has %d bytes", len(boot))
	}
	if err != nil {
		return "", fmt.Errorf("clock: cannot tell this boot of the machine from others: %w", err)
	}
	return boot, nil
}

// Now is store time.
func (c *Clock) Now() time.Duration { return c.forward(c.anchor + c.source.Elapsed()) }

// Read reads all clocks.
func (c *Clock) Read() Reading {
	elapsed := c.source.Elapsed()
	return Reading{Store: c.forward(c.anchor + elapsed), Wall: c.source.Wall(), Elapsed: elapsed, Boot: c.boot}
}

// forward gives now, or the furthest time that anyone has read if that is later.
func (c *Clock) forward(now time.Duration) time.Duration {
	for {
		latest := c.latest.Load()
		if int64(now) <= latest {
			return time.Duration(latest)
		}
		if c.latest.CompareAndSwap(latest, int64(now)) {
			return now
		}
	}
}
