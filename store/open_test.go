package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// snapshot is every file below dir with its contents.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&out, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func mustOpen(t *testing.T, cfg Config) *Embedded {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t *testing.T, s *Embedded) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// editRows changes rows of a closed store behind its back.
func editRows(t *testing.T, dir string, format pebble.FormatMajorVersion, edit func(*pebble.DB) error) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: format, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(edit(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func TestFailedOpenLeavesTheDiskAsItWas(t *testing.T) {
	made := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "data")
		s := mustOpen(t, Config{Path: dir})
		charge(s, "a")
		mustClose(t, s)
		return dir
	}
	for _, c := range []struct {
		name string
		dir  func(t *testing.T) string
		want error
	}{
		{"a newer version of the rows", func(t *testing.T) string {
			dir := made(t)
			editRows(t, dir, pebbleFormat, func(db *pebble.DB) error {
				return db.Set(keyFormat, binary.LittleEndian.AppendUint32(nil, formatVersion+1), pebble.Sync)
			})
			return dir
		}, ErrNewer},
		{"a newer format of the files", func(t *testing.T) string {
			dir := made(t)
			editRows(t, dir, pebbleFormat+1, func(*pebble.DB) error { return nil })
			return dir
		}, ErrNewer},
		{"another program's database", func(t *testing.T) string {
			dir := t.TempDir()
			editRows(t, dir, pebbleFormat, func(db *pebble.DB) error { return db.Set([]byte("x"), nil, pebble.Sync) })
			return dir
		}, ErrForeign},
		{"a damaged clock row", func(t *testing.T) string {
			dir := made(t)
			editRows(t, dir, pebbleFormat, func(db *pebble.DB) error { return db.Set(keyClock, []byte{1}, pebble.Sync) })
			return dir
		}, ErrCorrupt},
		{"a file in its place", func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(dir, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir(t)
			before := snapshot(t, filepath.Dir(dir))
			s, err := Open(Config{Path: dir})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v is not %v", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) && c.want != ErrCorrupt {
				t.Errorf("not one line that names the directory: %q", err)
			}
			if after := snapshot(t, filepath.Dir(dir)); after != before {
				t.Errorf("the disk has changed from\n%sto\n%s", before, after)
			}
		})
	}
}

func TestLockedDirectory(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Config{Path: dir})
	defer mustClose(t, s)
	if _, err := Open(Config{Path: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	charge(s, "a") // the first one goes on
}

// A first open that was cut short before the header was written is begun again.
func TestOpenAfterACutShortFirstOpen(t *testing.T) {
	dir := t.TempDir()
	editRows(t, dir, pebbleFormat, func(*pebble.DB) error { return nil })
	s := mustOpen(t, Config{Path: dir})
	charge(s, "a")
	mustClose(t, s)
}

func TestSecretIsMadeOnce(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Config{Path: "data", FS: mem})
	want := s.Key([]byte("policy"), []byte("key"))
	mustClose(t, s)
	again := mustOpen(t, Config{Path: "data", FS: mem})
	if got := again.Key([]byte("policy"), []byte("key")); got != want {
		t.Error("the row key of a key has changed")
	}
	mustClose(t, again)
	other := mustOpen(t, Config{Path: "data", FS: vfs.NewMem()})
	if other.Key([]byte("policy"), []byte("key")) == want {
		t.Error("two stores have the same secret")
	}
	mustClose(t, other)
	if err := other.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
	if !errors.Is(other.Ready(), ErrClosed) {
		t.Errorf("ready after close: %v", other.Ready())
	}
}

// charge charges 1 of 1,000,000 in the key's own shard and returns the answer.
func charge(s *Embedded, name string) *Op {
	rule := &Rule{Algorithm: AlgorithmFixedWindow, Window: 1 << 60}
	op := &Op{Kind: OpCharge, Key: key(name), Rule: rule, Cost: 1, Limit: 1_000_000}
	s.Apply(op.Key.Shard(s.Shards()), []*Op{op})
	return op
}
