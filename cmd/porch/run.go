package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/porchedge/porch/host"
	"github.com/porchedge/porch/host/config"
)

func runCommand() *cobra.Command {
	var file string
	var flags config.Flags
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve until SIGTERM or SIGINT",
		Long: `Serve until SIGTERM or SIGINT: the first ends it gracefully, the second at once.
SIGHUP, or a change of the configuration file or of a module, loads them anew.`,
		Example: `  porch run --to http://127.0.0.1:9000 --limit 100/1m --idempotency
  porch run --config porch.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logs.logger(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			cfg, err := configuration(cmd, file, flags)
			if err != nil {
				return err
			}
			hangups := make(chan os.Signal, 1) // one that waits stands for all that come meanwhile
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			return failed(host.Run(cmd.Context(), cfg, host.Options{
				Logger: log, Version: version, CacheDir: cacheDir(), Hangups: hangups,
			}))
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "configuration `file`")
	f.StringVar(&flags.Listen, "listen", "", "`address` to listen on (default 127.0.0.1:8080)")
	f.StringVar(&flags.To, "to", "", "`URL` of the service to forward to")
	f.StringVar(&flags.Limit, "limit", "", "`requests/window` for each peer address, such as 100/1m")
	f.BoolVar(&flags.Idempotency, "idempotency", false, "run requests with an Idempotency-Key once")
	f.StringVar(&flags.Data, "data", "", "`directory` of the store (default porch-data)")
	f.IntVar(&flags.Shards, "shards", 0, "shards of the pool (default 16)")
	f.IntVar(&flags.Mailbox, "mailbox", 0, "waiting messages and open flights of one shard (default 1024)")
	f.StringVar(&flags.Admin, "admin", "", "`address` of health, readiness and metrics (default off)")
	logs.register(f)
	cmd.MarkFlagFilename("config", "yaml", "yml")
	cmd.MarkFlagDirname("data")
	return cmd
}

// inFile are the flags that stand for what a file says.
var inFile = []string{"listen", "to", "limit", "idempotency", "data", "shards", "mailbox", "admin"}

// configuration reads the file, or else the flags. Mistakes in flags are wrong usage.
func configuration(cmd *cobra.Command, file string, flags config.Flags) (*config.Config, error) {
	if file == "" {
		if flags.To == "" {
			return nil, errors.New("name what to forward to by --to, or a file by --config")
		}
		return config.FromFlags(flags)
	}
	for _, name := range inFile {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s cannot be used with --config: the file says it", name)
		}
	}
	cfg, err := config.Load(file)
	return cfg, failed(err)
}

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check a configuration and its filters, and change nothing",
		Long:    "Check a configuration and its filters. Each mistake is named with its file, line and column.",
		Example: "  porch check --config porch.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("name the file by --config")
			}
			cfg, err := config.Load(file)
			if err != nil {
				return failed(err)
			}
			if err := host.Check(cmd.Context(), cfg, host.Options{Logger: quiet(cmd.ErrOrStderr()), CacheDir: cacheDir()}); err != nil {
				return failed(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: no mistakes (filters: %d, upstreams: %d, routes: %d)\n",
				file, len(cfg.Filters), len(cfg.Upstreams), len(cfg.Routes))
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `file`")
	cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}
