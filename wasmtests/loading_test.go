package wasmtests

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

const wasi = "wasi_snapshot_preview1"

var procExit = kit.Signature{Params: []kit.Type{kit.I32}}

var _ = clause("LOAD-1", func(t *testing.T) {
	for _, i := range []struct{ module, name string }{
		{abi.Module, "teleport"}, {"env", "abort"}, {wasi, "sock_dance"},
	} {
		f := small("f", func(m *kit.Module) { m.ImportAs(i.module, i.name, kit.Result); plain(m) })
		wantIn(t, refusal(t, f), i.module, i.name)
	}
	f := small("f", func(m *kit.Module) {
		m.ImportOther("env", "counter", kit.KindGlobal, byte(kit.I32), 0)
		plain(m)
	})
	wantIn(t, refusal(t, f), "env", "counter")
	open(t, small("f", func(m *kit.Module) {
		for name := range kit.Signatures {
			m.Import(name)
		}
		m.ImportAs(wasi, "proc_exit", procExit)
		plain(m)
	}))
})

var _ = clause("LOAD-2", func(t *testing.T) {
	for name, s := range kit.Signatures {
		wrong := kit.Signature{Params: append(slices.Clone(s.Params), kit.I32), Results: s.Results}
		f := small("f", func(m *kit.Module) { m.ImportAs(abi.Module, name, wrong); plain(m) })
		wantIn(t, refusal(t, f), abi.Module+"."+name)
	}
})

var _ = clause("LOAD-3", func(t *testing.T) {
	wantIn(t, refusal(t, small("f", func(m *kit.Module) {
		m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
		m.PrivateMemory(1)
	})), `"memory"`)
	wantIn(t, refusal(t, small("f", func(m *kit.Module) { m.Memory(1) })), abi.ExportRequest, abi.ExportResponse)
})

var _ = clause("LOAD-4", func(t *testing.T) {
	for _, export := range []string{abi.ExportConfigure, abi.ExportRequest, abi.ExportResponse} {
		f := small("f", func(m *kit.Module) {
			m.Export("other", m.Function(kit.Result, 0, kit.Const(0)))
			m.Export(export, m.Function(kit.Signature{}, 0))
			if export != abi.ExportRequest {
				plain(m)
			} else {
				m.Memory(1)
			}
		})
		wantIn(t, refusal(t, f), export)
	}
})

var _ = clause("LOAD-5", func(t *testing.T) {
	once := func(name string) kit.Filter {
		return small("f", func(m *kit.Module) {
			calls := m.Global(0)
			m.Export(name, m.Function(kit.Signature{}, 0, kit.SetGlobal(calls, kit.Add(kit.GetGlobal(calls), kit.Const(1)))))
			wrong := kit.If(kit.IsZero(kit.Equal(kit.GetGlobal(calls), kit.Const(1))), kit.Unreachable())
			m.Export(abi.ExportConfigure, m.Function(kit.Result, 0, wrong, kit.Const(0)))
			requests(m, "", wrong)
		})
	}
	for _, name := range []string{"_initialize", "_start"} {
		s := open(t, once(name))
		for range 5 {
			s.wantStatus(s.send(request{}), 200)
		}
	}
	both := open(t, small("f", func(m *kit.Module) {
		m.Export("_initialize", m.Function(kit.Signature{}, 0))
		m.Export("_start", m.Function(kit.Signature{}, 0, kit.Unreachable()))
		plain(m)
	}))
	both.wantStatus(both.send(request{}), 200)
	exits := open(t, small("f", func(m *kit.Module) {
		exit := m.ImportAs(wasi, "proc_exit", procExit)
		m.Export("_start", m.Function(kit.Signature{}, 0, kit.Call(exit, kit.Const(0))))
		plain(m)
	}))
	exits.wantStatus(exits.send(request{}), 200)
})

var _ = clause("LOAD-6", func(t *testing.T) {
	misdeeds := map[string]func(m *kit.Module) kit.Code{
		"trap": func(*kit.Module) kit.Code { return kit.Unreachable() },
		"exit": func(m *kit.Module) kit.Code {
			return kit.Call(m.ImportAs(wasi, "proc_exit", procExit), kit.Const(3))
		},
	}
	if !testing.Short() {
		misdeeds["loop"] = func(*kit.Module) kit.Code { return kit.Loop(kit.Const(1)) }
	}
	for name, misdeed := range misdeeds {
		exports := []string{"_initialize", "_start", abi.ExportConfigure}
		if name == "loop" {
			exports = exports[:1] // the host's limit for it is long
		}
		for _, export := range exports {
			wantIn(t, refusal(t, small("failing", func(m *kit.Module) {
				code := misdeed(m)
				if export == abi.ExportConfigure {
					m.Export(export, m.Function(kit.Result, 0, code, kit.Const(0)))
				} else {
					m.Export(export, m.Function(kit.Signature{}, 0, code))
				}
				plain(m)
			})), "failing")
		}
	}
})

var _ = clause("LOAD-7", func(t *testing.T) {
	want(t, open(t, probing("p")).run("system"), "0:0/false")
})

var _ = clause("LOAD-8", func(t *testing.T) {
	drawn := map[string]bool{}
	for range 2 {
		got := open(t, probing("p")).run("time", "random", "random")
		ms, err := strconv.ParseInt(got[0], 10, 64)
		if away := time.Since(time.UnixMilli(ms)).Abs(); err != nil || away > time.Minute {
			t.Errorf("the clock of WASI is %v away: %v", away, err)
		}
		for _, r := range got[1:] {
			if drawn[r] || strings.Count(r, "0") == len(r) {
				t.Errorf("drawn twice: %s", r)
			}
			drawn[r] = true
		}
	}
})

var _ = clause("LOAD-9", func(t *testing.T) {
	f := small("f", func(m *kit.Module) {
		m.Memory(17)
		m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
	})
	f.Memory = 1 << 20
	wantIn(t, refusal(t, f), "memory")
	f.Memory = 17 << 16
	open(t, f)
})

var _ = clause("LOAD-10", func(t *testing.T) {
	f := small("f", func(m *kit.Module) {
		m.Export("porch.fuel", m.Function(kit.Result, 0, kit.Const(0)))
		m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Const(0)))
	})
	wantIn(t, refusal(t, f), "porch.fuel")
	f = small("f", func(m *kit.Module) {
		m.Export(abi.ExportRequest, m.Function(kit.Result, 0, kit.Code{0x12, 0x00})) // return_call of a later version
	})
	wantIn(t, refusal(t, f), "module")
})
