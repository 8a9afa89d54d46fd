package wasm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/pool"
	"github.com/porchedge/porch/store"
)

// maxMilliseconds is the longest time that a spec can name: 292 years.
const maxMilliseconds = int64(math.MaxInt64 / time.Millisecond)

// limitSpec reads the spec of a limit.
func limitSpec(text []byte) (pool.LimitSpec, error) {
	var s abi.LimitSpec
	if err := strictJSON(text, &s); err != nil {
		return pool.LimitSpec{}, err
	}
	if s.Algorithm != abi.AlgorithmFixedWindow {
		return pool.LimitSpec{}, fmt.Errorf("algorithm is %q; this host has %q", oneLine([]byte(s.Algorithm), 64), abi.AlgorithmFixedWindow)
	}
	durability, known := durabilities[s.Durability]
	if !known {
		return pool.LimitSpec{}, fmt.Errorf("durability is %q; it is sync, async or none", oneLine([]byte(s.Durability), 64))
	}
	err := errors.Join(
		within("limit", s.Limit, 1, abi.MaxCost),
		within("window_ms", s.WindowMS, 1, maxMilliseconds),
		within("max_keys", s.MaxKeys, 0, math.MaxInt64),
	)
	return pool.LimitSpec{
		Limit:      s.Limit,
		Window:     time.Duration(s.WindowMS) * time.Millisecond,
		Durability: durability,
		MaxKeys:    s.MaxKeys,
	}, err
}

var durabilities = map[string]store.Durability{
	"":                  store.Sync,
	abi.DurabilitySync:  store.Sync,
	abi.DurabilityAsync: store.Async,
	abi.DurabilityNone:  store.None,
}

// onceSpec reads the spec of a policy for begin.
func onceSpec(text []byte) (*abi.OnceSpec, pool.OnceSpec, error) {
	s := new(abi.OnceSpec)
	if err := strictJSON(text, s); err != nil {
		return nil, pool.OnceSpec{}, err
	}
	problems := []error{
		within("ttl_ms", s.TTLMS, 1, maxMilliseconds),
		within("max_wait_ms", s.MaxWaitMS, 1, maxMilliseconds),
		within("max_waiters", s.MaxWaiters, 1, math.MaxInt32),
		within("max_response", s.MaxResponse, 0, math.MaxInt32),
		within("max_keys", s.MaxKeys, 0, math.MaxInt64),
	}
	refuses, known := unknownRules[s.OnUnknown]
	if !known {
		problems = append(problems, fmt.Errorf("on_unknown is %q; it is rerun or refuse", oneLine([]byte(s.OnUnknown), 64)))
	}
	for _, name := range s.Headers {
		if len(name) > abi.MaxFieldName || !isToken([]byte(name)) {
			problems = append(problems, fmt.Errorf("headers: %q is not the name of a field", oneLine([]byte(name), 64)))
		}
	}
	return s, pool.OnceSpec{
		TTL:        time.Duration(s.TTLMS) * time.Millisecond,
		MaxWait:    time.Duration(s.MaxWaitMS) * time.Millisecond,
		MaxWaiters: int(s.MaxWaiters),
		MaxKeys:    s.MaxKeys,

		RefuseUnknown: refuses,
	}, errors.Join(problems...)
}

// unknownRules say for each on_unknown whether duplicates are refused.
var unknownRules = map[string]bool{"": false, abi.OnUnknownRerun: false, abi.OnUnknownRefuse: true}

// guardSpec reads the spec of a guard.
func guardSpec(text []byte) (pool.GuardSpec, error) {
	var s abi.GuardSpec
	if err := strictJSON(text, &s); err != nil {
		return pool.GuardSpec{}, err
	}
	err := errors.Join(
		within("ttl_ms", s.TTLMS, 1, maxMilliseconds),
		within("max_keys", s.MaxKeys, 0, math.MaxInt64),
	)
	return pool.GuardSpec{TTL: time.Duration(s.TTLMS) * time.Millisecond, MaxKeys: s.MaxKeys}, err
}

func within(name string, v, least, most int64) error {
	if v < least || v > most {
		return fmt.Errorf("%s is %d; it is from %d to %d", name, v, least, most)
	}
	return nil
}

// strictJSON decodes one value and nothing after it, without members that the target does not have.
func strictJSON(text []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(target); err != nil {
		return fmt.Errorf("the spec is not understood: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the spec is not understood: there is more after its end")
	}
	return nil
}
