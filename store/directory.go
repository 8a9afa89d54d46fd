package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// directory is the store's place on disk, locked against other processes.
type directory struct {
	fs   vfs.FS
	path string
	made bool // by this open
	lock *pebble.Lock
}

func openDirectory(disk vfs.FS, path string) (*directory, error) {
	d := &directory{fs: disk, path: path}
	_, err := disk.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		d.made = true
		err = disk.MkdirAll(path, 0o750)
	}
	if err != nil {
		return nil, fmt.Errorf("store: data directory: %w", err)
	}
	d.lock, err = pebble.LockDirectory(path, disk)
	if err != nil {
		return nil, errors.Join(lockError(path, err), d.unmake())
	}
	return d, nil
}

// lockError tells a lock that somebody else holds from a file that cannot be made.
func lockError(path string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("store: data directory: %w", err)
	}
	return fmt.Errorf("%w: %s", ErrLocked, path)
}

// close gives the lock back.
func (d *directory) close() error { return d.lock.Close() }

// undo closes the directory after a failed open, and leaves the disk as it was.
func (d *directory) undo() error { return errors.Join(d.lock.Close(), d.unmake()) }

func (d *directory) unmake() error {
	if !d.made {
		return nil
	}
	return d.fs.RemoveAll(d.path)
}
