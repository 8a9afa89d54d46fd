package wasm

import (
	"bytes"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// Whatever bytes come: no panic, and what has sections keeps them all.
func FuzzSections(f *testing.F) {
	f.Add(counting())
	f.Add(moduleWith(func(m *kit.Module) {
		m.Table(3)
		m.Import(abi.FuncGet)
		m.ImportOther("env", "memory", kit.KindMemory, 1, 1, 2)
	}))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, source []byte) {
		sections, err := sectionsOf(source)
		if err != nil {
			return
		}
		_, _ = importsOf(sections)
		bounded, err := boundTables(source, sections)
		if err != nil {
			return
		}
		again, err := sectionsOf(bounded)
		if err != nil || len(again) != len(sections) {
			t.Fatalf("%d sections became %d: %v", len(sections), len(again), err)
		}
		for i, s := range sections {
			if s.id != sectionTable && !bytes.Equal(s.body, again[i].body) {
				t.Errorf("section %d was changed", s.id)
			}
		}
	})
}
