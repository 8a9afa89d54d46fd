// Package guesttest is an in-memory host for tests of filters: settable requests, clocks, counters and
// flights, everything that a filter did on record. It keeps the contract of abi/README.md as far as one filter
// can see it. Filter authors call it from ordinary go tests; nothing in it is durable or concurrent.
package guesttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Host is the other side of one filter. A filter is a program with state of its own, so only one host is
// installed at a time, and tests that use one do not run in parallel.
type Host struct {
	// Filter and Version are what the filter reads as its own.
	Filter, Version string
	// Wall is the wall clock, Store is store time. Advance moves both.
	Wall  time.Time
	Store time.Duration

	// Policies, Needs, Rejections and Lines (of the log) are what the filter has declared and written.
	Policies   []Policy
	Needs      []Need
	Rejections []Rejection
	Lines      []string
	// Verifiers are the specs of declared verifiers, JSON. Tokens are those that Verify knows.
	Verifiers []string
	Tokens    map[string]Token

	configuration string
	phase         phase
	exchange      *Exchange
	fail          abi.Condition
	windows       map[string]*window
	flights       map[string]*flight
	reservations  map[string]time.Duration // until when, store time
}

// Policy is a declared policy.
type Policy struct {
	Kind abi.Kind
	Name string
	Spec string // JSON as declared

	limit abi.LimitSpec
	once  abi.OnceSpec
	guard abi.GuardSpec
}

// Need is a declared need.
type Need struct {
	Features int32
	Header   string
	Cap      int64
}

// Rejection is a mistake in the configuration.
type Rejection struct {
	Pointer, Reason string
}

type phase uint8

const (
	phaseNone phase = iota
	phaseConfigure
	phaseRequest
	phaseResponse
	phaseAnswered
)

// Charge is one charge of Count.
type Charge = host.Charge

// Fresh makes a host that is not installed, for a filter that runs elsewhere than in this process.
func Fresh() *Host {
	h := new(Host)
	h.Reset()
	return h
}

// Reset forgets everything, counts and flights too, and sets the clocks back.
func (h *Host) Reset() {
	*h = Host{
		Filter:  "filter",
		Version: "0123456789ab",
		Wall:    time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC),
		windows: make(map[string]*window),
		flights: make(map[string]*flight),

		reservations: make(map[string]time.Duration),
		Tokens:       make(map[string]Token),
	}
}

// New makes a host and installs it until the test ends.
func New(t testing.TB) *Host {
	h := Fresh()
	before := host.Current
	host.Current = h
	t.Cleanup(func() { host.Current = before })
	return h
}

// Configure gives the filter a configuration, JSON, and calls its export. It returns whether the host
// would load it; Rejections say why not.
func (h *Host) Configure(export func() int32, configuration string) bool {
	h.Policies, h.Needs, h.Rejections, h.Verifiers = nil, nil, nil, nil
	h.configuration = configuration
	h.phase = phaseConfigure
	defer func() { h.phase = phaseNone }()
	return export() == 0 && len(h.Rejections) == 0
}

// Request calls the export of the request phase for r.
func (h *Host) Request(export func() int32, r Request) *Exchange {
	r = r.withDefaults()
	x := &Exchange{Request: r, sent: r}
	x.Request.Header = slices.Clone(r.Header)
	x.Properties = append(x.Properties, r.Properties...)
	h.exchange, h.phase = x, phaseRequest
	defer func() { h.phase = phaseNone }()
	x.Failed = export() != 0
	if x.Failed {
		x.Status, x.Recorded, x.Body = 0, nil, ""
	}
	return x
}

// Response gives x a response, applies what was recorded, and calls the export of the response phase, which
// may be nil.
func (h *Host) Response(export func() int32, x *Exchange, status int, header ...Field) {
	x.Response = Response{Status: status, Header: header}
	for _, op := range x.Recorded {
		op.apply(&x.Response.Header)
	}
	if export == nil {
		return
	}
	h.exchange, h.phase = x, phaseResponse
	defer func() { h.phase = phaseNone }()
	x.Failed = export() != 0
}

// FailNext has the next Count or Begin give a condition.
func (h *Host) FailNext(c abi.Condition) { h.fail = c }

// Advance moves both clocks forward.
func (h *Host) Advance(d time.Duration) {
	h.Wall = h.Wall.Add(d)
	h.Store += d
}

// Clock implements the host function.
func (h *Host) Clock(kind int32) int64 {
	switch {
	case h.phase == phaseAnswered:
		return int64(abi.WrongPhase)
	case kind == abi.ClockWall:
		return h.Wall.UnixMilli()
	case kind == abi.ClockStore:
		return h.Store.Milliseconds()
	default:
		return int64(abi.Invalid)
	}
}

// Log implements the host function.
func (h *Host) Log(level int32, text string) int32 {
	names := [...]string{"debug", "info", "warn", "error"}
	if level < 0 || int(level) >= len(names) {
		return int32(abi.Invalid)
	}
	h.Lines = append(h.Lines, fmt.Sprintf("%s %.*s", names[level], abi.MaxLogLine, text))
	return 0
}
