package wasmtests

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

var _ = clause("CLOCK-1", func(t *testing.T) {
	ms, err := strconv.ParseInt(open(t, probing("p")).run("clock 0")[0], 10, 64)
	if away := time.Since(time.UnixMilli(ms)).Abs(); err != nil || away > time.Minute {
		t.Errorf("%v away: %v", away, err)
	}
})

var _ = clause("CLOCK-2", func(t *testing.T) {
	f := probing("p", policy(abi.KindLimit, "l", strings.Replace(fixed(10, hour), `"none"`, `"sync"`, 1)))
	s := open(t, f)
	now := func(s *site) int64 {
		n, err := strconv.ParseInt(s.run("clock 1")[0], 10, 64)
		if err != nil || n < 0 {
			t.Fatalf("%d, %v", n, err)
		}
		return n
	}
	before := now(s)
	for range 5 {
		later := now(s)
		if later < before {
			t.Errorf("from %d to %d", before, later)
		}
		before = later
	}
	s.run(count(charge(0, "k", 1, 0)))
	s.close()
	again := openWith(t, kit.Setup{Filters: []kit.Filter{f}, Data: s.setup.Data})
	if later := now(again); later < before {
		t.Errorf("after a restart from %d to %d", before, later)
	}
})

var _ = clause("CLOCK-3", func(t *testing.T) {
	want(t, open(t, probing("p")).run("clock 2", "clock -1"), invalid, invalid)
})

var _ = clause("LOG-1", func(t *testing.T) {
	s := open(t, probing("p"))
	want(t, s.run("log 0 zero", "log 1 one", "log 2 two", "log 3 three", "log 4 four", "log -1 less"), done, done, done, done, invalid, invalid)
	for level, text := range map[string]string{"DEBUG": "zero", "INFO": "one", "WARN": "two", "ERROR": "three"} {
		s.log.line(t, "level="+level, "text="+text, "filter=p")
	}
	if log := s.log.String(); strings.Contains(log, "text=four") || strings.Contains(log, "text=less") {
		t.Error("another level is logged")
	}
})

var _ = clause("LOG-2", func(t *testing.T) {
	s := open(t, probing("p"))
	want(t, s.run("log 1 @5000"), done)
	line := s.log.line(t, "aaaaaaaa")
	if n := strings.Count(line, "a"); n < abi.MaxLogLine || n > abi.MaxLogLine+40 {
		t.Errorf("%d letters", n)
	}
})

var _ = clause("LOG-3", func(t *testing.T) {
	s := open(t, probing("p"))
	s.run("out hello%20out", "err hello%20err")
	s.log.line(t, "level=INFO", "hello out", "filter=p")
	s.log.line(t, "level=WARN", "hello err", "filter=p")
})

var _ = clause("LOG-4", func(t *testing.T) {
	s := open(t, probing("p"))
	s.run("log 1 first%0alevel=ERROR%0d%0a%1b[31mforged%c2%85%e2%80%a8last", "out a%0db")
	line := s.log.line(t, "first", "forged", "last")
	if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\n\x1b\u0085\u2028") || strings.Contains(line, `\n`) {
		t.Errorf("got %q", line)
	}
})

var _ = clause("LIFE-1", func(t *testing.T) {
	f := small("f", func(m *kit.Module) {
		// The guest traps when it is entered while it is in a call of the host.
		inside, log := m.Global(0), m.Import(abi.FuncLog)
		requests(m, "x",
			kit.If(kit.GetGlobal(inside), kit.Unreachable()), kit.SetGlobal(inside, kit.Const(1)),
			kit.Call(log, kit.Const(0), kit.Const(dataAt), kit.Const(1)), kit.Drop(),
			kit.SetGlobal(inside, kit.Const(0)))
	})
	s := open(t, f)
	var all []<-chan answer
	for range 32 {
		all = append(all, s.sending(request{}))
	}
	for _, a := range all {
		s.wantStatus(<-a, 200)
	}
})

// hostile is a filter that misbehaves for requests with the header X-Bad.
func hostile(code func(m *kit.Module) []kit.Code) kit.Filter {
	f := small("f", func(m *kit.Module) {
		get := m.Import(abi.FuncGet)
		asked := kit.Equal(kit.Const(0), kit.Call(get, kit.Const(int32(abi.FieldRequestHeader)), kit.Const(dataAt), kit.Const(5), kit.Const(0), kit.Const(0)))
		requests(m, "X-Bad", kit.If(asked, code(m)...))
	})
	f.Timeout = time.Second
	f.Memory = 1 << 20
	return f
}

func bad() request { return request{header: []string{"X-Bad", ""}} }

var misdeeds = map[string]func(m *kit.Module) []kit.Code{
	"loops":         func(*kit.Module) []kit.Code { return []kit.Code{kit.Loop(kit.Const(1))} },
	"traps":         func(*kit.Module) []kit.Code { return []kit.Code{kit.Unreachable()} },
	"reads outside": func(*kit.Module) []kit.Code { return []kit.Code{kit.Load(kit.Const(1 << 30)), kit.Drop()} },
	"grows for ever": func(*kit.Module) []kit.Code {
		return []kit.Code{kit.Loop(kit.Grow(kit.Const(1)), kit.Drop(), kit.Const(1))}
	},
	"exits": func(m *kit.Module) []kit.Code {
		return []kit.Code{kit.Call(m.ImportAs(wasi, "proc_exit", procExit), kit.Const(0))}
	},
	"calls itself": func(m *kit.Module) []kit.Code {
		next := m.Function(kit.Signature{}, 0)
		return []kit.Code{kit.Call(m.Function(kit.Signature{}, 0, kit.Call(next+1)))}
	},
	"logs without end": func(m *kit.Module) []kit.Code {
		log := m.Import(abi.FuncLog)
		return []kit.Code{kit.Loop(kit.Call(log, kit.Const(1), kit.Const(dataAt), kit.Const(5)), kit.Drop(), kit.Const(1))}
	},
}

// tree is calls of functions that call the next one twice: no loop, and four billion calls.
func tree(m *kit.Module) []kit.Code {
	next := m.Function(kit.Signature{}, 0)
	for range 32 {
		next = m.Function(kit.Signature{}, 0, kit.Call(next), kit.Call(next))
	}
	return []kit.Code{kit.Call(next)}
}

var _ = clause("LIFE-11", func(t *testing.T) {
	for name, misdeed := range map[string]func(*kit.Module) []kit.Code{"loop": misdeeds["loops"], "tree": tree} {
		f := hostile(misdeed)
		f.Timeout = patience
		s := open(t, f)
		s.wantRefused(s.send(bad()))
		s.wantStatus(s.send(request{}), 200)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	f := hostile(func(*kit.Module) []kit.Code { return nil })
	f.Fuel = 10_000
	s := open(t, f)
	s.wantStatus(s.send(bad()), 200)
})

var _ = clause("LIFE-2", func(t *testing.T) {
	asking := hostile(misdeeds["logs without end"])
	asking.Timeout, asking.Fuel = 50*time.Millisecond, 1<<40
	s := open(t, asking)
	s.wantRefused(s.send(bad()))
	s.wantStatus(s.send(request{}), 200)
	// A log that takes longer than the limit is not the guest's time.
	slow := &slowLog{journal: newJournal(), wait: time.Second}
	f := probing("p")
	f.Timeout = 400 * time.Millisecond
	p := openWith(t, kit.Setup{Filters: []kit.Filter{f}, Log: slow})
	want(t, p.run("log 1 slowly"), done)
})

// slowLog holds up lines that say slowly.
type slowLog struct {
	*journal
	wait time.Duration
}

func (l *slowLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("text=slowly")) {
		time.Sleep(l.wait)
	}
	return l.journal.Write(p)
}

var _ = clause("LIFE-3", func(t *testing.T) {
	f := small("f", func(m *kit.Module) {
		set, respond := m.Import(abi.FuncSet), m.Import(abi.FuncRespond)
		requests(m, "",
			kit.Loop(kit.IsZero(kit.Equal(kit.Grow(kit.Const(1)), kit.Const(-1)))),
			kit.Store(kit.Const(resultAt), kit.Pages()),
			kit.Store(kit.Const(resultAt+4), kit.Grow(kit.Const(1))),
			kit.Store(kit.Const(resultAt+8), kit.Grow(kit.Const(60000))),
			show(set, respond, 12))
	})
	f.Memory = 2 << 20
	got := numbers(open(t, f).send(request{}).body)
	if len(got) != 3 || got[0] != 32 || got[1] != -1 || got[2] != -1 {
		t.Errorf("got %d", got)
	}
})

var _ = clause("LIFE-4", func(t *testing.T) {
	// The guest counts its calls, answers with the count, and misbehaves when asked.
	for name, misdeed := range misdeeds {
		f := hostile(func(m *kit.Module) []kit.Code { return misdeed(m) })
		f.Instances = 1
		s := open(t, f)
		for range 3 {
			s.wantRefused(s.send(bad()))
			a := s.send(request{})
			if a.status != 200 {
				t.Errorf("%s: then %d", name, a.status)
			}
		}
	}
	s := open(t, small("f", func(m *kit.Module) {
		calls := m.Global(0)
		requests(m, "",
			kit.SetGlobal(calls, kit.Add(kit.GetGlobal(calls), kit.Const(1))),
			kit.If(kit.Equal(kit.GetGlobal(calls), kit.Const(2)), kit.Unreachable()))
	}))
	statuses := map[int]int{}
	for range 12 {
		statuses[s.send(request{}).status]++
	}
	if statuses[200] < 6 || statuses[503] < 4 {
		t.Errorf("got %v: an instance that trapped in its second call must not see a third", statuses)
	}
})

var _ = clause("LIFE-5 LIFE-6 LIFE-9", func(t *testing.T) {
	for name, misdeed := range misdeeds {
		f := hostile(misdeed)
		f.Instances = 8 // one for each request
		s := open(t, f, probing("p"))
		var failing, fine []<-chan answer
		for range 3 {
			failing = append(failing, s.sending(bad()))
			fine = append(fine, s.sending(request{}))
		}
		for i := range failing {
			a := <-failing[i]
			if a.status != 503 || a.header.Get("Retry-After") == "" {
				t.Errorf("%s: answered %d %v", name, a.status, a.header)
			}
			// The request id, which comes last, is random: it may spell any word.
			told, _, _ := strings.Cut(strings.ToLower(a.body), `"instance"`)
			for _, word := range []string{"wasm", "trap", "unreachable", "stack", "memory access", "exit", ".go"} {
				if strings.Contains(told, word) {
					t.Errorf("%s: the client is told %q: %s", name, word, a.body)
				}
			}
			if b := <-fine[i]; b.status != 200 {
				t.Errorf("%s: another request got %d", name, b.status)
			}
		}
		s.up.wantCount(t, 3)
	}
	f := probing("p")
	f.Open = true
	s := open(t, f)
	a := s.send(asking("p", set(abi.FieldResponseHeader, "X-A", "recorded"), set(abi.FieldResponseBody, "", "mine"), "trap"))
	s.wantStatus(a, 200)
	want(t, []string{a.header.Get("X-A"), a.body}, "", "up")
})

var _ = clause("LIFE-7", func(t *testing.T) {
	f := oncePolicy("p", once())
	f.Instances = 1
	s := open(t, f)
	release := s.up.held(answers(200, "run"))
	defer release()
	var all []<-chan answer
	for range 8 {
		all = append(all, s.sending(request{}))
		s.up.awaitOne(t)
	}
	all = append(all, s.sending(keyed("k", "d")))
	s.up.awaitOne(t)
	all = append(all, s.sending(keyed("k", "d").with(func(r *request) { r.header[1] += ";log 1 joined" })))
	s.log.line(t, "text=joined")
	s.wantStatus(s.send(asking("p", respond(204))), 204)
	release()
	for _, a := range all {
		s.wantStatus(<-a, 200)
	}
})

// stopLog holds up lines that say stopped until it is let go.
type stopLog struct {
	*journal
	reached, letGo chan struct{}
	once           sync.Once
}

func (l *stopLog) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("text=stopped")) {
		l.once.Do(func() { close(l.reached) })
		<-l.letGo
	}
	return l.journal.Write(p)
}

var _ = clause("LIFE-8", func(t *testing.T) {
	log := &stopLog{journal: newJournal(), reached: make(chan struct{}), letGo: make(chan struct{})}
	f := probing("p")
	f.Instances, f.Timeout = 1, 500*time.Millisecond
	s := openWith(t, kit.Setup{Filters: []kit.Filter{f}, Log: log})
	first := s.sending(asking("p", "log 1 stopped"))
	<-log.reached
	s.wantRefused(s.send(request{}))
	s.up.wantCount(t, 0)
	close(log.letGo)
	s.wantStatus(<-first, 200)
	s.wantStatus(s.send(request{}), 200)
})

var _ = clause("LIFE-10", func(t *testing.T) {
	s := open(t, probing("p"))
	release := s.up.held(answers(200, "run"))
	defer release()
	version := get(abi.FieldVersion, "")
	early := s.sending(asking("p", version).inResponse("p", version))
	s.up.awaitOne(t)
	if err := s.server.Reload([]kit.Filter{probing("p", "log 0 new")}); err != nil {
		t.Fatal(err)
	}
	release()
	a := <-early
	first := s.results(a, "p")
	want(t, s.backResults(a, "p"), first...)
	if second := s.run(version); second[0] == first[0] {
		t.Error("the new version is not in service")
	}
})
