package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/porchedge/porch/cmd/porch/demo"
	"github.com/porchedge/porch/host"
	"github.com/porchedge/porch/host/config"
)

func demoCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a limit, a replay and a mismatch before a sample service",
		Long: `Start a sample service, put Porch before it, and print three commands to try.
Nothing is left behind when it ends.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(runDemo(cmd.Context(), listen, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`address` that Porch listens on")
	return cmd
}

func runDemo(ctx context.Context, listen string, out, logs io.Writer) (err error) {
	data, err := os.MkdirTemp("", "porch-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1) // one result
	// Stops when this function ends, which waits for it.
	go func() { served <- demo.Serve(serving, service) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()

	cfg, err := config.Parse("", []byte(demo.Config(listen, "http://"+service.Addr().String(), data)))
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg, host.Options{Logger: quiet(logs), Version: version, CacheDir: cacheDir()})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // ended while it started
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "Porch listens on http://%s, before a sample service that takes orders.\nTry it from another terminal; Ctrl-C ends it.\n\n%s",
		h.Addr(), demo.Commands(h.Addr().String()))
	return errors.Join(h.Run(ctx), h.Close())
}
