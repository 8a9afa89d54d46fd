package token

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/porchedge/porch/abi"
)

// followed is a verifier over a key file that the test changes.
type followed struct {
	*Verifier
	t       *testing.T
	path    string
	options Options
	log     bytes.Buffer
	changes []bool
}

func openFile(t *testing.T, jwks bool, content string, algorithms ...string) *followed {
	t.Helper()
	dir := t.TempDir()
	f := &followed{t: t, path: filepath.Join(dir, "key")}
	f.write(content)
	f.options = Options{
		Dir:     dir,
		Now:     func() time.Time { return now },
		Logger:  slog.New(slog.NewTextHandler(&f.log, nil)),
		Changed: func(taken bool) { f.changes = append(f.changes, taken) },
	}
	source := abi.KeySpec{File: "key"}
	if jwks {
		source = abi.KeySpec{JWKS: "key"}
	}
	var mistakes Mistakes
	if f.Verifier, mistakes = Open(specFor(source, algorithms...), f.options); len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	t.Cleanup(f.Close)
	return f
}

// write puts a new file into place.
func (f *followed) write(content string) {
	f.t.Helper()
	if err := os.WriteFile(f.path+".next", []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path+".next", f.path); err != nil {
		f.t.Fatal(err)
	}
}

// looksAgain looks once, as the ticker would, and compares what was told.
func (f *followed) looksAgain(want ...bool) {
	f.t.Helper()
	f.changes = nil
	f.reread(f.options)
	if len(f.changes) != len(want) || len(want) == 1 && f.changes[0] != want[0] {
		f.t.Errorf("told %v, want %v", f.changes, want)
	}
}

func TestKeysRotate(t *testing.T) {
	k := keys()
	f := openFile(t, true, set(jwk("1", &k.ec.PublicKey)), "ES256")
	f.Close() // the test looks by itself
	old, next := sign("ES256", k.ec, claims(), "kid", "1"), sign("ES256", k.other, claims(), "kid", "2")
	wantOutcome(t, f.Verifier, old, Good)
	wantOutcome(t, f.Verifier, next, UnknownKey)
	f.looksAgain()
	f.write(set(jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey)))
	f.looksAgain(true)
	wantOutcome(t, f.Verifier, old, Good)
	wantOutcome(t, f.Verifier, next, Good)
	f.write(set(jwk("2", &k.other.PublicKey)))
	f.looksAgain(true)
	wantOutcome(t, f.Verifier, old, UnknownKey)
	wantOutcome(t, f.Verifier, next, Good)
}

func TestBadFileLeavesTheKeys(t *testing.T) {
	k := keys()
	good := set(jwk("1", &k.ec.PublicKey))
	text := sign("ES256", k.ec, claims(), "kid", "1")
	for _, c := range []struct {
		name   string
		change func(f *followed)
		words  string
	}{
		{"half a file", func(f *followed) { f.write(good[:len(good)/2]) }, "not a JSON Web Key Set"},
		{"empty", func(f *followed) { f.write("") }, "not a JSON Web Key Set"},
		{"no key that fits", func(f *followed) { f.write(set(jwk("1", &k.rsa.PublicKey))) }, "fits"},
		{"gone", func(f *followed) { os.Remove(f.path) }, "no such file"},
		{"a folder", func(f *followed) { os.Remove(f.path); os.Mkdir(f.path, 0o700) }, "not a regular file"},
		{"huge", func(f *followed) { f.write(strings.Repeat(" ", maxKeyFile) + good) }, "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := openFile(t, true, good, "ES256")
			f.Close()
			c.change(f)
			f.looksAgain(false)
			f.looksAgain() // it is told once
			wantOutcome(t, f.Verifier, text, Good)
			if log := f.log.String(); !strings.Contains(log, c.words) || !strings.Contains(log, f.path) {
				t.Errorf("the log lacks %q: %s", c.words, log)
			}
			os.RemoveAll(f.path)
			f.write(set(jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey)))
			f.looksAgain(true)
			wantOutcome(t, f.Verifier, sign("ES256", k.other, claims(), "kid", "2"), Good)
		})
	}
}

// A file that was written twice within one tick of the file system's clock is not taken for unchanged.
func TestSecondWriteAtTheSameTime(t *testing.T) {
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	f := openFile(t, false, first, "HS256")
	f.Close()
	info, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString(second)
	file.Close()
	if err := os.Chtimes(f.path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	f.now = func() time.Time { return info.ModTime().Add(time.Second) }
	f.file.settled = false
	f.looksAgain(true)
}

// A file that has been at rest is not read again.
func TestQuietFileIsNotRead(t *testing.T) {
	f := openFile(t, false, strings.Repeat("a", 32), "HS256")
	f.Close()
	past := now.Add(-time.Hour)
	if err := os.Chtimes(f.path, past, past); err != nil {
		t.Fatal(err)
	}
	f.looksAgain()
	f.file.parse = func([]byte) (*keySet, error) { t.Error("read"); return nil, nil }
	f.file.content[0]++
	f.looksAgain()
}

func TestFileIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := []byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32))
		f := openFile(t, false, string(first), "HS256")
		f.write(string(second))
		wantOutcome(t, f.Verifier, sign("HS256", first, claims()), Good)
		time.Sleep(rereadEvery)
		synctest.Wait()
		wantOutcome(t, f.Verifier, sign("HS256", second, claims()), Good)
		wantOutcome(t, f.Verifier, sign("HS256", first, claims()), WrongSignature)
		f.Close()
		f.Close()
	})
}

// Requests go on while keys change.
func TestRotationHammer(t *testing.T) {
	k := keys()
	one, both := set(jwk("1", &k.ec.PublicKey)), set(jwk("1", &k.ec.PublicKey), jwk("2", &k.other.PublicKey))
	f := openFile(t, true, one, "ES256")
	f.Close()
	text := sign("ES256", k.ec, claims(), "kid", "1")
	stop, done := make(chan struct{}), make(chan int, 4)
	for range cap(done) {
		// Stops when stop is closed, and the test reads done.
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					done <- n
					return
				default:
					wantOutcome(t, f.Verifier, text, Good)
				}
			}
		}()
	}
	for i := range 100 {
		f.write([]string{both, one}[i%2])
		f.looksAgain(true)
	}
	close(stop)
	for range cap(done) {
		<-done
	}
}
