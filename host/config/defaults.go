package config

import "time"

// Defaults is the configuration that an empty file stands for, but for what every configuration must say
// itself: its upstreams and routes.
func Defaults() Config {
	return Config{
		Listen: "127.0.0.1:8080",
		Store: Store{
			Path:         "porch-data",
			Stall:        time.Second,
			SyncInterval: 100 * time.Millisecond,
		},
		Pool: Pool{Shards: 16, Mailbox: 1024},
		Server: Server{
			MaxHead:        16 << 10,
			MaxBody:        16 << 30,
			MaxConnections: 16384,
			IdleTimeout:    time.Minute,
			MinRate:        1 << 10,
			Drain:          30 * time.Second,
		},
	}
}

// defaultAdmin is where the admin listener stands in a file that has an admin section without an address.
const defaultAdmin = "127.0.0.1:9901"

func defaultUpstream(name string) Upstream {
	return Upstream{Name: name, Timeout: 30 * time.Second, Host: HostClient}
}

func defaultFilter(name string) Filter {
	return Filter{
		Name:      name,
		Config:    []byte("{}"),
		Timeout:   50 * time.Millisecond,
		Fuel:      30_000_000,
		Memory:    32 << 20,
		Instances: 8,
		OnFailure: FailClosed,
		At:        func(string) Position { return Position{} },
	}
}

// Bounds of what a configuration may hold.
const (
	maxShards      = 1024
	maxMailbox     = 1 << 16
	maxFile        = 4 << 20 // bytes of YAML
	maxGuestConfig = 1 << 20 // bytes of JSON for one filter
	maxDepth       = 64      // of nesting, aliases followed
	maxNodes       = 1 << 16 // values read, aliases followed
	maxNames       = 1 << 12 // filters, upstreams, routes, proxies
	maxTargets     = 64      // of one upstream
	maxName        = 64      // bytes of a filter's or an upstream's name
	maxMistakes    = 200     // named one by one
)
