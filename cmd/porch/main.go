// Command porch is an edge HTTP server whose policies are WebAssembly filters. This package is the command
// line: it reads flags, wires the parts together, and turns errors into one line and an exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/porchedge/porch/host"
	"github.com/porchedge/porch/host/config"
)

// Exit codes.
const (
	exitFailed = 1  // bad configuration, or it could not start
	exitUsage  = 2  // wrong usage
	exitStore  = 70 // the store is dead; start again and nothing acknowledged is lost
	exitSignal = 128
)

func main() {
	ctx, stop := untilSignal()
	err := command().ExecuteContext(ctx)
	stop()
	report(os.Stderr, err)
	os.Exit(exitCode(err))
}

// report writes an error in one line; mistakes in a configuration, which begin with their place, in one
// line each.
func report(w io.Writer, err error) {
	var mistakes config.Mistakes
	switch {
	case err == nil:
	case errors.As(err, &mistakes) && mistakes[0].File != "":
		fmt.Fprintln(w, mistakes)
	default:
		fmt.Fprintln(w, "porch:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// untilSignal returns a context that the first SIGTERM or SIGINT ends. The second ends the process at once.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // the second may come before the first was read
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	done, ended := make(chan struct{}), make(chan struct{})
	// Stops when stop is called, which waits for it.
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-signals:
				if ctx.Err() != nil {
					os.Exit(exitSignal + int(s.(syscall.Signal)))
				}
				cancel()
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel()
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "porch",
		Short: "An edge HTTP server whose policies are WebAssembly filters",
		Long: `Porch stands in front of an HTTP service and runs each request through WebAssembly filters.
Limits are exact and a keyed request runs once, under any concurrency and after a crash.

  porch demo                                   see it work
  porch run --to http://127.0.0.1:9000 --limit 100/1m --idempotency
  porch run --config porch.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		// Without a command; with one that is unknown Args refuses.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(runCommand(), checkCommand(), versionCommand(), demoCommand())
	return root
}

// failure is an error that is not about usage. Whatever else cobra returns is.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failed marks an error of the work itself, as opposed to its usage.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, host.ErrStoreDead):
		return &failure{exitStore, err}
	default:
		return &failure{exitFailed, err}
	}
}

func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		return f.code
	default:
		return exitUsage
	}
}
