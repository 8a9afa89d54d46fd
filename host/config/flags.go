package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/porchedge/porch/abi"
)

// Flags is a configuration without a file. Empty members take their defaults.
type Flags struct {
	Listen      string
	To          string // the one upstream
	Limit       string // "100/1m"; empty for none
	Idempotency bool
	Data        string
	Shards      int
	Mailbox     int
	Admin       string
}

// Names in the configuration that flags make.
const (
	flagUpstream = "app"
	flagLimit    = "per-client"
	flagOnce     = "once"
)

// FromFlags makes the configuration: one route for everything, with the limit by peer address before the
// idempotency keys. An error is Mistakes, which name the flags.
func FromFlags(f Flags) (*Config, error) {
	r := &reader{}
	cfg := Defaults()
	path := func(text string) (string, error) { return filepath.Abs(text) }
	cfg.Listen = flagText(r, "listen", f.Listen, cfg.Listen, parseListen)
	cfg.Admin.Listen = flagText(r, "admin", f.Admin, "", parseListen)
	cfg.Store.Path = flagText(r, "data", cmp.Or(f.Data, cfg.Store.Path), "", path)
	cfg.Pool.Shards = flagCount(r, "shards", f.Shards, cfg.Pool.Shards, maxShards)
	cfg.Pool.Mailbox = flagCount(r, "mailbox", f.Mailbox, cfg.Pool.Mailbox, maxMailbox)

	up := defaultUpstream(flagUpstream)
	if f.To == "" {
		r.mistake(Position{}, "--to: not set, allowed: %s", targetAllowed)
	}
	up.Targets = []string{flagText(r, "to", f.To, "", parseTarget)}
	cfg.Upstreams = []Upstream{up}

	if f.Limit != "" {
		limit := defaultFilter(flagLimit)
		limit.Module = "builtin:ratelimit"
		limit.Config = []byte(flagText(r, "limit", f.Limit, "", parseLimit))
		cfg.Filters = append(cfg.Filters, limit)
	}
	if f.Idempotency {
		once := defaultFilter(flagOnce)
		once.Module = "builtin:idempotency"
		cfg.Filters = append(cfg.Filters, once)
	}
	cfg.Routes = []Route{{Name: "/", Path: "/", Filters: filterNames(&cfg), Upstream: flagUpstream}}
	if err := r.err(); err != nil {
		return nil, err
	}
	return &cfg, nil
}

func flagText(r *reader, name, text, def string, parse func(string) (string, error)) string {
	if text == "" {
		return def
	}
	value, err := parse(text)
	if err != nil {
		r.mistake(Position{}, "--%s: %v", name, err)
		return def
	}
	return value
}

func flagCount(r *reader, name string, value, def, most int) int {
	switch {
	case value == 0:
		return def
	case value < 1 || value > most:
		r.mistake(Position{}, "--%s: %d is not allowed, allowed: a whole number from 1 to %d", name, value, most)
		return def
	}
	return value
}

// parseLimit turns "100/1m" into the configuration of builtin:ratelimit.
func parseLimit(text string) (string, error) {
	count, window, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(count, 10, 64)
	_, windowErr := parseDuration(window)
	if err != nil || n < 1 || n > abi.MaxCost || windowErr != nil {
		return "", fmt.Errorf("%s is not a limit, allowed: requests/window, such as 100/1m", quote(text))
	}
	return fmt.Sprintf(`{"limit":%d,"window":%q,"key":["peer"]}`, n, window), nil
}
