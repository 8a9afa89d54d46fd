package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The files in testdata say what the store does, command by command. Time is the bubble's.
func TestBehaviour(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{machine: newMachine(), mem: vfs.NewCrashableMem()}
				defer s.end()
				datadriven.RunTest(t, file, s.run)
			})
		})
	}
}

// scene is one file's store and what it stands on.
type scene struct {
	machine *machine
	mem     *vfs.MemFS
	disk    *disk
	store   *Embedded
	stalled bool
	tickets []*Ticket // in the order of their first appearance
	tokens  []uint64  // of reservations, likewise
}

func (s *scene) end() {
	if s.stalled {
		s.disk.resume()
	}
	if s.store != nil {
		s.store.Close()
	}
}

func (s *scene) run(t *testing.T, d *datadriven.TestData) string {
	synctest.Wait() // the committer has done what it can
	switch d.Cmd {
	case "open":
		return s.open(t, d)
	case "apply":
		return s.apply(t, d.Input)
	case "advance":
		time.Sleep(span(t, d.CmdArgs[0].Key))
		return ""
	case "reboot":
		synctest.Wait() // the committer reads the clocks
		s.machine.reboot(d.CmdArgs[0].Key)
		for _, arg := range d.CmdArgs[1:] {
			s.machine.wallStep += span(t, arg.Vals[0])
		}
		return ""
	case "wall":
		synctest.Wait()
		s.machine.wallStep += span(t, d.CmdArgs[0].Key)
		return ""
	case "stall":
		s.disk.stall()
		s.stalled = true
		return ""
	case "resume":
		s.disk.resume()
		s.stalled = false
		return s.settled()
	case "fail-sync":
		s.disk.failSync(1)
		return ""
	case "settle":
		return s.settled()
	case "ready":
		if err := s.store.Ready(); err != nil {
			return err.Error()
		}
		return "ready"
	case "time":
		return s.store.Time().String()
	case "rows":
		return s.rows(t)
	case "stats":
		stats := s.store.Stats()
		return fmt.Sprintf("hot %d volatile %d", stats.HotRows, stats.VolatileRows)
	case "close":
		if err := s.store.Close(); err != nil {
			return err.Error()
		}
		return ""
	case "crash":
		clone := s.mem.CrashClone(vfs.CrashCloneCfg{})
		s.end()
		s.store, s.mem, s.stalled = nil, clone, false
		return ""
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func (s *scene) open(t *testing.T, d *datadriven.TestData) string {
	cfg := Config{Path: "data", Shards: 1, Clock: s.machine}
	for _, arg := range d.CmdArgs {
		switch n, _ := strconv.Atoi(arg.Vals[0]); arg.Key {
		case "hot":
			cfg.HotRows = n
		case "volatile":
			cfg.VolatileRows = n
		case "hot-bytes":
			cfg.HotBytes = int64(n)
		default:
			t.Fatalf("%s: unknown argument %s", d.Pos, arg.Key)
		}
	}
	s.disk = newDisk(s.mem)
	cfg.FS = s.disk
	var err error
	if s.store, err = Open(cfg); err != nil {
		return err.Error()
	}
	synctest.Wait()
	return ""
}

// apply decides one batch, a line for each operation: kind, key and arguments.
func (s *scene) apply(t *testing.T, input string) string {
	var batch []*Op
	for line := range strings.Lines(input) {
		batch = append(batch, s.parseOp(t, line))
	}
	s.store.Apply(0, batch)
	for _, op := range batch {
		if op.Outcome == Reserved {
			s.tokens = append(s.tokens, op.Token)
		}
	}
	var out strings.Builder
	for _, op := range batch {
		fmt.Fprintf(&out, "%s %s%s%s\n", strings.TrimRight(string(op.Key[:]), "\x00"), outcomeName(op.Outcome), details(op), s.ticket(op.Ticket))
	}
	return out.String()
}

func (s *scene) parseOp(t *testing.T, line string) *Op {
	words := strings.Fields(line)
	kinds := map[string]OpKind{
		"charge": OpCharge, "peek": OpPeek, "hold": OpHold, "confirm": OpConfirm, "cancel": OpCancel,
		"lookup": OpLookup, "put": OpPut,
		"reserve": OpReserve, "unreserve": OpUnreserve, "start": OpStart, "forget": OpForget,
	}
	kind, ok := kinds[words[0]]
	if !ok {
		t.Fatalf("unknown operation %q", line)
	}
	rule := &Rule{Policy: PolicyID{'p'}, Algorithm: AlgorithmFixedWindow, Window: time.Minute, TTL: time.Hour}
	op := &Op{Kind: kind, Key: key(words[1]), Rule: rule, Cost: 1, Limit: 10}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "cost":
			op.Cost = n
		case "limit":
			op.Limit = n
		case "async":
			rule.Durability = Async
		case "none":
			rule.Durability = None
		case "digest":
			copy(op.Digest[:], value)
		case "record":
			op.Record = []byte(value)
		case "oversize":
			op.Oversize = true
		case "token":
			op.Token = s.tokens[n]
		default:
			t.Fatalf("unknown argument in %q", line)
		}
	}
	return op
}

func outcomeName(o Outcome) string {
	return [...]string{"unavailable", "full", "allowed", "refused", "contended", "absent", "found", "differs", "done",
		"started", "reserved", "taken"}[o]
}

func details(op *Op) string {
	switch op.Outcome {
	case Allowed, Refused:
		v := op.Verdict
		text := fmt.Sprintf(" used=%d remaining=%d reset=%v", v.Used, v.Remaining, v.ResetAfter)
		if !v.Allowed {
			text += fmt.Sprintf(" retry=%v", v.RetryAfter)
		}
		return text
	case Found:
		if op.Oversize {
			return " oversize"
		}
		return fmt.Sprintf(" %q", op.Record)
	}
	return ""
}

// ticket names a ticket by when it was first seen.
func (s *scene) ticket(ticket *Ticket) string {
	if ticket == nil {
		return ""
	}
	for i, have := range s.tickets {
		if have == ticket {
			return fmt.Sprintf(" ticket %d", i+1)
		}
	}
	s.tickets = append(s.tickets, ticket)
	return fmt.Sprintf(" ticket %d", len(s.tickets))
}

// settled lets everything happen that can, and says where the tickets stand.
func (s *scene) settled() string {
	synctest.Wait()
	var out strings.Builder
	for i, ticket := range s.tickets {
		state := "pending"
		if ticket.Settled() {
			state = "durable"
			if err := ticket.Wait(); err != nil {
				state = err.Error()
			}
		}
		fmt.Fprintf(&out, "ticket %d %s\n", i+1, state)
	}
	return out.String()
}

// rows is what the database holds, without its header.
func (s *scene) rows(t *testing.T) string {
	it, err := s.store.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for ok := it.First(); ok; ok = it.Next() {
		name := strings.TrimRight(string(it.Key()[1:]), "\x00")
		switch it.Key()[0] {
		case tableCounter:
			row, err := getCounter(it.Value())
			fmt.Fprintf(&out, "counter %s %v to %v used %d%s\n", name, row.Start, row.End, row.Used, errText(err))
		case tableResponse:
			r, err := getResponse(it.Value())
			text := fmt.Sprintf("%q", r.record)
			if r.started {
				text = "started"
			}
			fmt.Fprintf(&out, "response %s until %v %s%s\n", name, r.expires, text, errText(err))
		case tableReserved:
			expires, _, err := getReservation(it.Value())
			fmt.Fprintf(&out, "reservation %s until %v%s\n", name, expires, errText(err))
		case tableExpiry:
			k := it.Key()
			fmt.Fprintf(&out, "expiry bucket %d %c %s\n", k[8], it.Value()[0], strings.TrimRight(string(k[17:]), "\x00"))
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return " " + errors.Unwrap(err).Error()
}

func span(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
