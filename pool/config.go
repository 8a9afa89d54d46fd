package pool

import (
	"log/slog"
	"time"

	"github.com/porchedge/porch/store"
)

// Config is what Open needs. Zero values take the defaults.
type Config struct {
	Store   store.Store
	Shards  int // as many as the store has, which is the default
	Mailbox int // unanswered messages per shard and, counted apart, open flights per shard; 1,024 by default
	// AnswerWithin is how long a caller waits for its shard before it gets ErrUnavailable; 1 s by default.
	AnswerWithin time.Duration
	// CloseWithin is how long Close waits for open flights; 5 s by default.
	CloseWithin time.Duration
	// MaxKeys is how many rows a policy may have that does not say; 1,000,000 by default.
	MaxKeys  int64
	Janitor  JanitorConfig
	Logger   *slog.Logger
	Observer Observer // none if nil
}

const (
	defaultMailbox      = 1024
	defaultAnswerWithin = time.Second
	defaultCloseWithin  = 5 * time.Second
	defaultMaxKeys      = 1_000_000
)

func (c Config) withDefaults() Config {
	if c.Shards <= 0 {
		c.Shards = c.Store.Shards()
	}
	if c.Mailbox <= 0 {
		c.Mailbox = defaultMailbox
	}
	if c.AnswerWithin <= 0 {
		c.AnswerWithin = defaultAnswerWithin
	}
	if c.CloseWithin <= 0 {
		c.CloseWithin = defaultCloseWithin
	}
	if c.MaxKeys <= 0 {
		c.MaxKeys = defaultMaxKeys
	}
	c.Janitor = c.Janitor.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
