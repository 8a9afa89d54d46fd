package pool

import (
	"errors"
	"time"

	"github.com/porchedge/porch/store/clock"
)

// Operation is what a caller asked for.
type Operation uint8

// The operations.
const (
	OperationCount Operation = iota
	OperationBegin
	OperationWait
	OperationComplete
	OperationReserve
)

// String is the operation as a metric label.
func (o Operation) String() string {
	switch o {
	case OperationCount:
		return "count"
	case OperationBegin:
		return "begin"
	case OperationWait:
		return "wait"
	case OperationReserve:
		return "reserve"
	default:
		return "complete"
	}
}

// Outcome is what came of an operation.
type Outcome uint8

// The outcomes.
const (
	OutcomeAllowed     Outcome = iota // of count
	OutcomeRefused                    // of count
	OutcomeExecuted                   // of begin and wait: the caller owns the flight
	OutcomeReplayed                   // of begin and wait
	OutcomeJoined                     // of begin
	OutcomeMismatch                   // of begin
	OutcomeStored                     // of complete
	OutcomeInvalid                    // ErrInvalid, ErrEnded
	OutcomeSaturated                  // ErrSaturated
	OutcomeCapacity                   // ErrCapacity
	OutcomeUnavailable                // ErrUnavailable, ErrClosed
	OutcomeLate                       // ErrWaitedTooLong
	OutcomeLeft                       // the waiter's context ended
	OutcomeUnknown                    // of begin and wait
	OutcomeReserved                   // of reserve
	OutcomeDuplicate                  // of reserve
)

var outcomeNames = [...]string{
	OutcomeAllowed: "allowed", OutcomeRefused: "refused", OutcomeExecuted: "executed",
	OutcomeReplayed: "replayed", OutcomeJoined: "joined", OutcomeMismatch: "mismatch",
	OutcomeStored: "stored", OutcomeInvalid: "invalid", OutcomeSaturated: "saturated",
	OutcomeCapacity: "capacity", OutcomeUnavailable: "unavailable", OutcomeLate: "late", OutcomeLeft: "left",
	OutcomeUnknown: "unknown", OutcomeReserved: "reserved", OutcomeDuplicate: "duplicate",
}

// String is the outcome as a metric label.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "none"
}

// Observer is told of each decision, once for each policy that a Count names. It is called in the caller's
// goroutine and returns at once. took includes waiting for the shard, and for the flight in a wait.
type Observer interface {
	Decided(policy *Policy, op Operation, outcome Outcome, took time.Duration)
}

// watch measures one operation for the observer; the zero value measures nothing.
type watch struct {
	observer Observer
	start    time.Duration
}

func (p *Pool) watch() watch {
	if p.cfg.Observer == nil {
		return watch{}
	}
	return watch{observer: p.cfg.Observer, start: clock.Monotonic()}
}

func (w watch) tell(policy *Policy, op Operation, outcome Outcome) {
	if policy != nil {
		w.observer.Decided(policy, op, outcome, clock.Monotonic()-w.start)
	}
}

func (w watch) counted(charges []Charge, verdicts []Verdict, err error) {
	if w.observer == nil {
		return
	}
	for i := range charges {
		outcome := errorOutcome(err)
		if err == nil {
			outcome = OutcomeRefused
			if verdicts[i].Allowed {
				outcome = OutcomeAllowed
			}
		}
		w.tell(charges[i].Policy, OperationCount, outcome)
	}
}

func (w watch) began(policy *Policy, claim *Claim, err error) {
	if w.observer == nil {
		return
	}
	outcome := errorOutcome(err)
	if err == nil {
		outcome = stateOutcome(claim.state)
	}
	w.tell(policy, OperationBegin, outcome)
}

func (w watch) waited(policy *Policy, state State, err error) {
	if w.observer == nil {
		return
	}
	outcome := errorOutcome(err)
	if err == nil {
		outcome = stateOutcome(state)
	}
	w.tell(policy, OperationWait, outcome)
}

func (w watch) completed(policy *Policy, err error) {
	if w.observer == nil {
		return
	}
	outcome := errorOutcome(err)
	if err == nil {
		outcome = OutcomeStored
	}
	w.tell(policy, OperationComplete, outcome)
}

func (w watch) reserved(policy *Policy, reserved bool, err error) {
	if w.observer == nil {
		return
	}
	outcome := errorOutcome(err)
	switch {
	case err != nil:
	case reserved:
		outcome = OutcomeReserved
	default:
		outcome = OutcomeDuplicate
	}
	w.tell(policy, OperationReserve, outcome)
}

func stateOutcome(s State) Outcome {
	switch s {
	case Execute:
		return OutcomeExecuted
	case Joined:
		return OutcomeJoined
	case Replay:
		return OutcomeReplayed
	case Unknown:
		return OutcomeUnknown
	default:
		return OutcomeMismatch
	}
}

func errorOutcome(err error) Outcome {
	switch {
	case errors.Is(err, ErrSaturated):
		return OutcomeSaturated
	case errors.Is(err, ErrCapacity):
		return OutcomeCapacity
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrEnded):
		return OutcomeInvalid
	case errors.Is(err, ErrWaitedTooLong):
		return OutcomeLate
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrClosed):
		return OutcomeUnavailable
	default:
		return OutcomeLeft
	}
}
