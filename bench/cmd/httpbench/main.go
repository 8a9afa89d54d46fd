// Command httpbench measures what a proxied request costs, side by side with nginx: requests per second, and
// processor time of the proxy per request. It drives the real binary. All proxies run at the same time before
// the same upstream, and take turns under the same load, so that only ratios within one run are of use; those
// say how Porch compares on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "origin" {
		fmt.Fprintln(os.Stderr, "httpbench:", serveOrigin(os.Args[2])) // until it is ended
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "httpbench:", err)
		os.Exit(1)
	}
}

// load is how hard and how long each subject is driven.
type load struct {
	rounds      int
	duration    time.Duration
	connections int
}

func command(ctx context.Context, args []string) error {
	var l load
	flags := flag.NewFlagSet("httpbench", flag.ExitOnError)
	porch := flags.String("porch", "../bin/porch", "the `binary` of Porch")
	flags.IntVar(&l.rounds, "rounds", 3, "rounds; each drives every subject once")
	flags.DurationVar(&l.duration, "duration", 2*time.Second, "how long a subject is driven in a round")
	flags.IntVar(&l.connections, "connections", 64, "connections of the load tool")
	flags.Parse(args)
	for _, tool := range []string{*porch, "nginx", "wrk"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is needed: %w", tool, err)
		}
	}
	return bench(ctx, *porch, l)
}

// bench starts everything, lets the subjects take turns and prints the table.
func bench(ctx context.Context, porch string, l load) (err error) {
	dir, err := os.MkdirTemp("", "httpbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The worker processes of nginx may run as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	origin, err := startOrigin(dir)
	if err != nil {
		return err
	}
	defer origin.stop()
	subjects := subjects(porch, origin.addr)
	for _, s := range subjects {
		if err := s.start(ctx, dir); err != nil {
			return err
		}
		defer s.process.stop()
	}
	for range l.rounds {
		for _, s := range subjects {
			if err := s.measure(ctx, l); err != nil {
				return err
			}
		}
	}
	return printTable(os.Stdout, subjects, l)
}
