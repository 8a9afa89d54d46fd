package token

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

const (
	// rereadEvery is how soon a changed key file is noticed.
	rereadEvery = time.Second
	// settleTime is how old a modification time must be to say that nothing was written after the file
	// was read: clocks of file systems are coarse.
	settleTime = 2 * time.Second
	maxKeyFile = 1 << 20 // bytes
)

// keyFile is a file with keys and what was found in it last. After it was opened it belongs to the goroutine
// that follows it.
type keyFile struct {
	path  string
	parse func([]byte) (*keySet, error)

	looked  fs.FileInfo       // as it was before it was last read; nil if it was not there
	settled bool              // nothing can have been written since, unless looked differs
	content [sha256.Size]byte // of what was read last
	failed  string            // why it could not be read; empty if it was
}

// read reads the file if it may have changed. Without a change, and without an error that was not told
// before, keys is nil and changed false.
func (f *keyFile) read(now time.Time) (keys *keySet, changed bool, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, f.fails(reason(err)), errors.New(reason(err))
	}
	if f.settled && f.failed == "" && unchanged(f.looked, info) {
		return nil, false, nil
	}
	f.looked, f.settled = info, now.Sub(info.ModTime()) > settleTime
	text, err := f.text(info)
	if err != nil {
		return nil, f.fails(reason(err)), errors.New(reason(err))
	}
	content := sha256.Sum256(text)
	if content == f.content && f.failed == "" {
		return nil, false, nil
	}
	keys, err = f.parse(text)
	if err != nil {
		same := content == f.content
		f.content = content
		return nil, f.fails(err.Error()) || !same, err
	}
	f.content, f.failed = content, ""
	return keys, true, nil
}

// fails notes why the file is of no use, and says whether that is news.
func (f *keyFile) fails(why string) bool {
	news := f.failed != why
	f.failed = why
	return news
}

func (f *keyFile) text(info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(file, maxKeyFile+1))
	if err == nil && n > maxKeyFile {
		err = fmt.Errorf("more than %d bytes", maxKeyFile)
	}
	return text.Bytes(), err
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// reason is an error without the path, which is said once.
func reason(err error) string {
	var where *fs.PathError
	if errors.As(err, &where) {
		err = where.Err
	}
	return err.Error()
}

// follow takes changed keys over until Close. A file that cannot be used leaves the former keys at work.
func (v *Verifier) follow(o Options) {
	ticker := time.NewTicker(rereadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-ticker.C:
			v.reread(o)
		}
	}
}

func (v *Verifier) reread(o Options) {
	keys, changed, err := v.file.read(v.now())
	switch {
	case !changed:
		return
	case err != nil:
		o.Logger.Warn("keys of tokens cannot be read, the former ones stay",
			slog.String("file", v.file.path), slog.String("error", err.Error()))
	default:
		v.keys.Store(keys)
		o.Logger.Info("keys of tokens were replaced", slog.String("file", v.file.path), slog.Int("keys", len(keys.keys)))
	}
	o.Changed(err == nil)
}
