package host

import (
	"context"
	"errors"
	"log/slog"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/metrics"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// state is the pool over its store: all that outlives a generation.
type state struct {
	store *store.Embedded
	pool  *pool.Pool
	// alive ends when the store is dead.
	alive context.Context
	die   context.CancelFunc
}

// openState opens the store, which makes its directory where there is none, then the pool over it.
func openState(cfg *config.Config, log *slog.Logger, m *metrics.Metrics) (*state, error) {
	s := &state{}
	s.alive, s.die = context.WithCancel(context.Background())
	var err error
	s.store, err = store.Open(store.Config{
		Path:         cfg.Store.Path,
		Shards:       cfg.Pool.Shards,
		Stall:        cfg.Store.Stall,
		SyncInterval: cfg.Store.SyncInterval,
		Logger:       log,
		Observer:     m,
		Fatal:        func(error) { s.die() },
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	m.StoreOpened(s.store.Stats)
	s.pool, err = pool.Open(pool.Config{
		Store: s.store, Shards: cfg.Pool.Shards, Mailbox: cfg.Pool.Mailbox, Logger: log, Observer: m,
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	m.PoolOpened(s.pool.Stats)
	return s, nil
}

// ready is nil while decisions can be taken.
func (s *state) ready() error {
	if s.alive.Err() != nil {
		return ErrStoreDead
	}
	return s.pool.Ready()
}

// close closes the pool before the store that it writes to.
func (s *state) close() error {
	var errs []error
	if s.pool != nil {
		errs = append(errs, s.pool.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	s.die()
	return errors.Join(errs...)
}
