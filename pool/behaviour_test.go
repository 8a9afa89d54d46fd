package pool

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/porchedge/porch/store"
)

// The files in testdata say what the pool does, command by command. Requests have names; what happens to
// one that waits is said below the command that made it happen. Time is the bubble's.
func TestBehaviour(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{mem: vfs.NewCrashableMem(), machine: machine{started: time.Now()}}
				defer s.end()
				datadriven.RunTest(t, file, s.run)
			})
		})
	}
}

// scene is one file's pool, its store, and the requests at it.
type scene struct {
	machine  machine
	mem      *vfs.MemFS
	disk     *disk
	store    *store.Embedded
	pool     *Pool
	limit    *Policy
	once     *Policy
	requests map[string]*request

	mu     sync.Mutex
	events []string
	wg     sync.WaitGroup
}

// request is somebody who asks the pool.
type request struct {
	claim   *Claim
	tickets Tickets
	cancel  context.CancelFunc
}

func (s *scene) end() {
	s.disk.resume()
	s.pool.Close()
	s.wg.Wait()
	s.store.Close()
}

func (s *scene) event(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

func (s *scene) run(t *testing.T, d *datadriven.TestData) string {
	var name string
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "open":
		s.open(t, d)
	case "begin":
		s.begin(d)
	case "wait":
		s.wait(s.requests[name])
	case "complete":
		r := s.requests[name]
		err := r.claim.Complete([]byte(d.CmdArgs[1].Key), &r.tickets)
		s.event("%s complete%s", name, errorText(err))
	case "oversize":
		r := s.requests[name]
		err := r.claim.CompleteOversize(&r.tickets)
		s.event("%s complete%s", name, errorText(err))
	case "release":
		s.requests[name].claim.Release()
	case "cancel":
		s.requests[name].cancel()
	case "tickets":
		r := s.requests[name]
		s.wg.Go(func() { s.event("%s durable%s", name, errorText(r.tickets.Wait())) })
	case "count":
		s.count(t, d)
	case "hold", "confirm", "give-back":
		s.hold(d)
	case "advance":
		pause, err := time.ParseDuration(name)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
	case "stall":
		s.disk.stall()
	case "resume":
		s.disk.resume()
	case "stats":
		synctest.Wait()
		b := s.pool.busy()
		s.event("flights %d waiters %d mailbox %d", b.Flights, b.Waiters, b.Mailbox)
	case "close":
		s.wg.Go(func() { s.event("closed%s", errorText(s.pool.Close())) })
	case "crash":
		clone := s.mem.CrashClone(vfs.CrashCloneCfg{})
		s.end()
		s.mem, s.events = clone, nil
	default:
		t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.events)
	out := strings.Join(s.events, "\n")
	s.events = nil
	return out
}

func (s *scene) open(t *testing.T, d *datadriven.TestData) {
	cfg := Config{}
	spec := OnceSpec{TTL: time.Hour, MaxWait: 30 * time.Second, MaxWaiters: 3}
	for _, arg := range d.CmdArgs {
		n, _ := strconv.Atoi(arg.Vals[0])
		switch arg.Key {
		case "mailbox":
			cfg.Mailbox = n
		case "waiters":
			spec.MaxWaiters = n
		}
	}
	s.disk = newDisk(s.mem)
	var err error
	s.store, err = store.Open(store.Config{Path: "data", Shards: 1, FS: s.disk, Clock: s.machine})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store = s.store
	if s.pool, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	s.limit = limit(t, s.pool, "limit", 10, time.Minute)
	s.once = once(t, s.pool, "once", spec)
	s.requests = map[string]*request{}
}

// begin NAME KEY DIGEST; several names, separated by commas, begin one after the other.
func (s *scene) begin(d *datadriven.TestData) {
	var digest [32]byte
	copy(digest[:], d.CmdArgs[2].Key)
	for name := range strings.SplitSeq(d.CmdArgs[0].Key, "+") {
		r := &request{}
		s.requests[name] = r
		s.wg.Go(func() {
			claim, err := s.pool.Begin(s.once, []byte(d.CmdArgs[1].Key), digest, &r.tickets)
			r.claim = claim
			if err != nil {
				s.event("%s%s", name, errorText(err))
				return
			}
			s.event("%s %s", name, s.standing(claim))
		})
		synctest.Wait()
	}
}

func (s *scene) wait(r *request) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	s.wg.Go(func() {
		defer cancel()
		name := s.nameOf(r)
		if _, err := r.claim.Wait(ctx, &r.tickets); err != nil {
			s.event("%s%s", name, errorText(err))
			return
		}
		s.event("%s %s", name, s.standing(r.claim))
	})
}

func (s *scene) nameOf(r *request) string {
	for name, have := range s.requests {
		if have == r {
			return name
		}
	}
	return ""
}

func (s *scene) standing(c *Claim) string {
	text := [...]string{"executes", "joined", "replays", "mismatch"}[c.State()]
	if c.State() == Replay {
		record, oversize := c.Stored()
		text += fmt.Sprintf(" %q", record)
		if oversize {
			text += " oversize"
		}
	}
	return text
}

// count NAME KEY=COST ...
func (s *scene) count(t *testing.T, d *datadriven.TestData) {
	name := d.CmdArgs[0].Key
	var charges []Charge
	for _, arg := range d.CmdArgs[1:] {
		cost, limit, _ := strings.Cut(arg.Vals[0], "/")
		c := Charge{Policy: s.limit, Key: []byte(arg.Key)}
		c.Cost, _ = strconv.ParseInt(cost, 10, 64)
		c.Limit, _ = strconv.ParseInt(limit, 10, 64)
		charges = append(charges, c)
	}
	r := &request{}
	s.requests[name] = r
	s.wg.Go(func() {
		verdicts := make([]Verdict, len(charges))
		allowed, err := s.pool.Count(charges, verdicts, &r.tickets)
		if err != nil {
			s.event("%s%s", name, errorText(err))
			return
		}
		out := fmt.Sprintf("%s allowed=%v", name, allowed)
		for i, v := range verdicts {
			out += fmt.Sprintf("\n%s   %s allowed=%v used=%d limit=%d remaining=%d reset=%v retry=%v", name, charges[i].Key,
				v.Allowed, v.Used, v.Limit, v.Remaining, v.ResetAfter, v.RetryAfter)
		}
		s.event("%s", out)
	})
}

// hold KEY=COST, confirm KEY=COST, give-back KEY=COST: what a Count of several charges does by the way.
func (s *scene) hold(d *datadriven.TestData) {
	kind := map[string]store.OpKind{"hold": store.OpHold, "confirm": store.OpConfirm, "give-back": store.OpCancel}[d.Cmd]
	cost, _ := strconv.ParseInt(d.CmdArgs[0].Vals[0], 10, 64)
	row := s.store.Key(s.limit.identity, []byte(d.CmdArgs[0].Key))
	s.pool.shard(row).forget(callStore, func(c *call) {
		c.op = store.Op{Kind: kind, Key: row, Rule: &s.limit.rule, Cost: cost, Limit: s.limit.limit}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return " error: " + err.Error()
}
