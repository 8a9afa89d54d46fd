package clock

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

type fake struct {
	wall    time.Time
	elapsed time.Duration
	boot    string
	err     error
}

func (f *fake) Wall() time.Time         { return f.wall }
func (f *fake) Elapsed() time.Duration  { return f.elapsed }
func (f *fake) BootID() (string, error) { return f.boot, f.err }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWallStepsDoNotMoveStoreTime(t *testing.T) {
	m := &fake{wall: noon, elapsed: time.Hour, boot: "a"}
	c, err := Start(m)
	if err != nil {
		t.Fatal(err)
	}
	if c.Now() != 0 {
		t.Errorf("a new store begins at %v", c.Now())
	}
	for _, step := range []time.Duration{-time.Hour, 24 * time.Hour, -300 * time.Hour} {
		before := c.Now()
		m.wall = m.wall.Add(step)
		m.elapsed += time.Second
		if got := c.Now() - before; got != time.Second {
			t.Errorf("a wall step of %v moved store time by %v beside the second that has passed", step, got-time.Second)
		}
		if r := c.Read(); !r.Wall.Equal(m.wall) || r.Elapsed != m.elapsed || r.Boot != "a" {
			t.Errorf("read %+v", r)
		}
	}
}

func TestResume(t *testing.T) {
	last := Reading{Store: time.Minute, Wall: noon, Elapsed: time.Hour, Boot: "a"}
	for _, c := range []struct {
		name string
		now  fake
		want time.Duration
	}{
		{"same boot", fake{wall: noon, elapsed: time.Hour + time.Second, boot: "a"}, time.Minute + time.Second},
		{"same boot, wall back", fake{wall: noon.Add(-time.Hour), elapsed: time.Hour + time.Second, boot: "a"}, time.Minute + time.Second},
		{"same boot, wall forward", fake{wall: noon.Add(time.Hour), elapsed: time.Hour + time.Second, boot: "a"}, time.Minute + time.Second},
		{"same boot, no time has passed", fake{wall: noon, elapsed: time.Hour, boot: "a"}, time.Minute},
		{"same name of the boot, less time since it", fake{wall: noon, elapsed: time.Second, boot: "a"}, time.Minute},
		{"reboot", fake{wall: noon.Add(2 * time.Minute), elapsed: time.Second, boot: "b"}, 3 * time.Minute},
		{"reboot, wall back", fake{wall: noon.Add(-time.Hour), elapsed: time.Second, boot: "b"}, time.Minute},
		{"reboot, long time since the boot", fake{wall: noon, elapsed: 9 * time.Hour, boot: "b"}, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			resumed, err := Resume(&c.now, last)
			if err != nil {
				t.Fatal(err)
			}
			if got := resumed.Now(); got != c.want {
				t.Errorf("goes on at %v, not %v", got, c.want)
			}
			c.now.elapsed += time.Second
			if got := resumed.Now(); got != c.want+time.Second {
				t.Errorf("a second later it is %v, not %v", got, c.want+time.Second)
			}
		})
	}
}

func TestTimeOnlyMovesForward(t *testing.T) {
	m := &fake{wall: noon, elapsed: time.Hour, boot: "a"}
	c, err := Start(m)
	if err != nil {
		t.Fatal(err)
	}
	m.elapsed += time.Minute
	c.Now()
	m.elapsed -= time.Second
	if got := c.Now(); got != time.Minute {
		t.Errorf("store time went to %v", got)
	}
}

func TestConcurrentReadsMoveForward(t *testing.T) {
	c, err := Start(System())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := c.Now()
			for range 1000 {
				now := c.Read().Store
				if now < last {
					t.Errorf("from %v to %v", last, now)
				}
				last = now
			}
		})
	}
	wg.Wait()
}

func TestBootIsNeeded(t *testing.T) {
	for name, m := range map[string]*fake{
		"unknown":  {err: errors.New("no such file")},
		"too long": {boot: strings.Repeat("x", 65)},
	} {
		if _, err := Start(m); err == nil {
			t.Errorf("%s: started", name)
		}
		if _, err := Resume(m, Reading{}); err == nil {
			t.Errorf("%s: resumed", name)
		}
	}
}
