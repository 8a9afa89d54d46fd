// Command poolbench measures durable exact charges per second: the pool over its store at 64 and 512
// callers, beside a bare Pebble committer that writes the same rows in batches of the same size, and beside
// Redis counting with INCR under appendfsync always. All take turns, round after round, on the same disk, so
// that only ratios within one run are of use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "poolbench:", err)
		os.Exit(1)
	}
}

// load is what every subject is driven with.
type load struct {
	duration time.Duration
	keys     int // charged at random
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("poolbench", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often each subject has its turn")
	duration := flags.Duration("duration", 2*time.Second, "of one turn")
	keys := flags.Int("keys", 100_000, "that are charged at random")
	dir := flags.String("dir", os.TempDir(), "on the disk that is measured")
	server := flags.String("redis", "redis-server", "the Redis server; empty to leave it out")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	work, err := os.MkdirTemp(*dir, "poolbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	return measure(ctx, work, *server, *rounds, load{duration: *duration, keys: *keys})
}

// measure opens all subjects, gives them their turns, and prints what came of it.
func measure(ctx context.Context, work, server string, rounds int, l load) (err error) {
	pools, err := openPools(work, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pools.close()) }()
	bare, err := openBare(work, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	var redis *redis
	if server != "" {
		if redis, err = startRedis(work, server, l); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, redis.close()) }()
	}
	var all []round
	for n := range rounds + 1 {
		r, err := takeTurns(ctx, pools, bare, redis, l)
		if err != nil {
			return err
		}
		if n > 0 { // the first round warms up
			all = append(all, r)
		}
	}
	return printTable(os.Stdout, all, l)
}

// round is what one turn of each subject came to.
type round struct {
	pool64, pool512 turn
	bare64, bare512 turn
	redis           turn
}

// turn is what one subject did in its turn.
type turn struct {
	perSecond float64
	batch     float64 // records of a commit, on average
}

func takeTurns(ctx context.Context, pools *pools, bare *bare, redis *redis, l load) (r round, err error) {
	for _, step := range []func() error{
		func() error { r.pool64, err = pools.drive(64, l); return err },
		func() error { r.bare64, err = bare.drive(r.pool64.batch, l); return err },
		func() error {
			if redis != nil {
				r.redis, err = redis.drive(64, l)
			}
			return err
		},
		func() error { r.pool512, err = pools.drive(512, l); return err },
		func() error { r.bare512, err = bare.drive(r.pool512.batch, l); return err },
	} {
		if err := errors.Join(ctx.Err(), step()); err != nil {
			return r, err
		}
	}
	return r, nil
}
