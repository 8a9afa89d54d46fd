package host

import (
	"time"

	"github.com/porchedge/porch/pool"
)

// declarer checks the policies that filters declare where no pool is open: to check a configuration. A
// guest cannot reach its decisions while it is configured.
type declarer struct{}

func (declarer) Limit(_, _ string, spec pool.LimitSpec) (*pool.Policy, error) {
	return new(pool.Policy), spec.Check()
}

func (declarer) Once(_, _ string, spec pool.OnceSpec) (*pool.Policy, error) {
	return new(pool.Policy), spec.Check()
}

func (declarer) Count([]pool.Charge, []pool.Verdict, *pool.Tickets) (bool, error) {
	return false, pool.ErrUnavailable
}

func (declarer) Begin(*pool.Policy, []byte, [32]byte, *pool.Tickets) (*pool.Claim, error) {
	return nil, pool.ErrUnavailable
}

func (declarer) Guard(_, _ string, spec pool.GuardSpec) (*pool.Policy, error) {
	return new(pool.Policy), spec.Check()
}

func (declarer) Reserve(*pool.Policy, []byte, *pool.Tickets) (pool.Reservation, bool, error) {
	return pool.Reservation{}, false, pool.ErrUnavailable
}

func (declarer) StoreTime() time.Duration { return 0 }
