// Package guest is what the author of a Porch filter imports. A filter is a Go program built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared
//
// whose package main exports up to three functions, one line each:
//
//	//go:wasmexport porch_request
//	func porchRequest() int32 { return guest.OnRequest(request) }
//
// The host runs one call of an instance at a time, and keeps, replaces and drops instances at will: nothing
// between two calls that correctness rests on may be kept in the guest. What must survive lies behind Charge,
// Count and Begin, which the host makes exact and durable.
//
// What a method returns as bytes lies in memory that is used again: it is valid until the handler returns.
// On the way of a request nothing here allocates, so the guest's collector hardly ever runs.
//
// The package also builds natively. There it runs against the in-memory host of guesttest, so a filter's
// logic has ordinary tests.
package guest

import (
	"errors"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/guest/internal/host"
)

// Why the host did not do what was asked; nothing was done. After one of the last three in a decision a
// handler may simply return: the host answers 503. The others, but ErrAbsent, tell of a mistake in the filter
// or in what it passed on.
var (
	ErrAbsent      = errors.New("guest: not there")
	ErrInvalid     = errors.New("guest: argument not allowed")
	ErrTooLarge    = errors.New("guest: argument too large")
	ErrWrongPhase  = errors.New("guest: not now")
	ErrDenied      = errors.New("guest: may be read but not written")
	ErrSaturated   = errors.New("guest: a bounded queue is full")
	ErrUnavailable = errors.New("guest: the store cannot decide, or the body is not held")
	ErrCapacity    = errors.New("guest: the policy holds as many keys as it may")

	// Why a token is not good.
	ErrUntrusted = errors.New("guest: the token is malformed, not signed as it must be, or meant for somebody else")
	ErrExpired   = errors.New("guest: the token's time is over")
	ErrEarly     = errors.New("guest: the token's time has not come")

	errUnknown = errors.New("guest: condition unknown to this version")
)

// condition turns a result of the host into an error; nil for results that are not negative.
func condition(result int32) error {
	if result >= 0 {
		return nil
	}
	switch abi.Condition(result) {
	case abi.Absent:
		return ErrAbsent
	case abi.Invalid:
		return ErrInvalid
	case abi.TooLarge:
		return ErrTooLarge
	case abi.WrongPhase:
		return ErrWrongPhase
	case abi.Saturated:
		return ErrSaturated
	case abi.Unavailable:
		return ErrUnavailable
	case abi.Capacity:
		return ErrCapacity
	case abi.Denied:
		return ErrDenied
	case abi.Untrusted:
		return ErrUntrusted
	case abi.Expired:
		return ErrExpired
	case abi.Early:
		return ErrEarly
	default:
		return errUnknown
	}
}

// Results of an export.
const (
	accepted int32 = 0
	failed   int32 = 1
)

// The values that handlers receive. An instance handles one call at a time, so one of each is enough.
var (
	request  Request
	response Response
)

// OnRequest runs a filter's handler for a request. It is the body of the export porch_request.
func OnRequest(handle func(*Request)) int32 {
	memory.reset()
	request = Request{}
	handle(&request)
	return request.result()
}

// OnResponse runs a filter's handler for the way back. It is the body of the export porch_response.
func OnResponse(handle func(*Response)) int32 {
	memory.reset()
	response = Response{}
	handle(&response)
	return response.result()
}

// Wall returns the wall clock as Unix milliseconds, for what a client will read.
func Wall() int64 { return host.Clock(abi.ClockWall) }

// StoreTime returns store time in milliseconds: it only moves forward, and decisions rest on it.
func StoreTime() int64 { return host.Clock(abi.ClockStore) }
