package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long the files must stay as they are before a change counts: editors and copies write in
// several steps.
const settle = 100 * time.Millisecond

// maxModule bounds a module file, in bytes.
const maxModule = 64 << 20

// watch follows the content of files, by events on their directories, so that renames into place are seen
// too. It belongs to the goroutine that reloads.
type watch struct {
	fs   *fsnotify.Watcher
	seen map[string]print // as they were when they were last read
	last map[string]print // as they were when looked at last
}

// print identifies a file's content; zero if it cannot be read.
type print [sha256.Size]byte

// openWatch gives a watch that never tells of anything where the system does not let files be watched.
func openWatch(log *slog.Logger) *watch {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("changed files are not noticed, a signal still reloads", slog.Any("error", err))
		return &watch{}
	}
	return &watch{fs: fs, seen: map[string]print{}, last: map[string]print{}}
}

func (w *watch) Close() error {
	if w.fs == nil {
		return nil
	}
	return w.fs.Close()
}

// events and errors come as they happen.
func (w *watch) events() <-chan fsnotify.Event {
	if w.fs == nil {
		return nil
	}
	return w.fs.Events
}

func (w *watch) errors() <-chan error {
	if w.fs == nil {
		return nil
	}
	return w.fs.Errors
}

// keep follows these files and no others. Those that are new are taken as they are now, so it is called
// before they are read: no change between is lost.
func (w *watch) keep(files []string) error {
	if w.fs == nil {
		return nil
	}
	other := func(f string, _ print) bool { return !slices.Contains(files, f) }
	maps.DeleteFunc(w.seen, other)
	maps.DeleteFunc(w.last, other)
	dirs := map[string]bool{}
	for _, f := range files {
		if _, ok := w.seen[f]; !ok {
			w.seen[f] = look(f)
			w.last[f] = w.seen[f]
		}
		dirs[filepath.Dir(f)] = true
	}
	for _, d := range w.fs.WatchList() {
		if !dirs[d] {
			w.fs.Remove(d) //nolint:errcheck // it fails where the directory has gone, and its watch with it
		}
	}
	var errs error
	for d := range dirs {
		// Adding a directory again is harmless, and needed where it was removed and made anew.
		if err := w.fs.Add(d); err != nil {
			errs = errors.Join(errs, fmt.Errorf("host: cannot watch %s: %w", d, err))
		}
	}
	return errs
}

// mark takes the files as they are now for read.
func (w *watch) mark() {
	for f := range w.seen {
		w.seen[f] = look(f)
		w.last[f] = w.seen[f]
	}
}

// concerns says whether an event may be about a followed file. Names that begin with two dots are the
// links by which mounted configuration is swapped under unchanged names.
func (w *watch) concerns(e fsnotify.Event) bool {
	if _, ok := w.seen[e.Name]; ok {
		return true
	}
	return strings.HasPrefix(filepath.Base(e.Name), "..")
}

// settled looks at the files and says whether they are as they were at the look before.
func (w *watch) settled() bool {
	same := true
	for f, before := range w.last {
		w.last[f] = look(f)
		same = same && w.last[f] == before
	}
	return same
}

// changed says whether the last look found other content than was read.
func (w *watch) changed() bool { return !maps.Equal(w.seen, w.last) }

func look(file string) print {
	f, err := os.Open(file)
	if err != nil {
		return print{}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxModule+1)); err != nil {
		return print{}
	}
	return print(h.Sum(nil))
}
