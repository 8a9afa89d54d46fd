//go:build wasip1

// Probe is a guest that does what it is told: it runs a script of calls of the contract, with any
// arguments, and reports their results. The script of porch_configure is the member "probe" of its
// configuration; those of a request lie in header fields named after the filter:
//
//	Probe-Request-NAME    for porch_request; results in the response header Probe-Result-NAME
//	Probe-Response-NAME   for porch_response; results in Probe-Back-NAME
//
// A script is commands separated by ";", of words separated by spaces. A word is percent-encoded; @N stands
// for N times the letter a, and "-" for nothing. Results are separated by ",": the number that the
// function returned and, behind a colon, percent-encoded, what it wrote.
package main

import (
	"strings"

	"github.com/porchedge/porch/abi"
)

func main() {}

// script runs one script. It keeps the results, so that a later call in the same instance can report
// those that this one cannot.
func script(text string) (code int32) {
	results = nil
	for command := range strings.SplitSeq(text, ";") {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		for i := range words {
			words[i] = decode(words[i])
		}
		if words[0] == "return" {
			return int32(number(words[1]))
		}
		run, ok := commands[words[0]]
		if !ok {
			panic("probe: no command " + words[0])
		}
		results = append(results, run(words[1:]))
	}
	return 0
}

var results, configured []string

//go:wasmexport porch_configure
func porchConfigure() int32 {
	config := field(abi.FieldConfiguration, "")
	_, rest, found := strings.Cut(config, `"probe":"`)
	if !found {
		return 0
	}
	text, _, _ := strings.Cut(rest, `"`)
	code := script(text)
	configured = results
	call("log", abi.LevelDebug, "configured "+strings.Join(results, ","))
	return code
}

//go:wasmexport porch_request
func porchRequest() int32 {
	return told("Probe-Request-", "Probe-Result-")
}

//go:wasmexport porch_response
func porchResponse() int32 {
	return told("Probe-Response-", "Probe-Back-")
}

// told runs the script of a request header, if there is one, and reports in a response header.
func told(header, answer string) int32 {
	name := field(abi.FieldFilter, "")
	text := field(abi.FieldRequestHeader, header+name)
	if text == "" {
		return 0
	}
	before = results
	code := script(text)
	report(answer + name)
	return code
}

// before are the results of the former script in this instance.
var before []string

func report(header string) {
	if len(results) > 0 {
		text := strings.Join(results, ",")
		call("set", int32(abi.FieldResponseHeader), header, text)
	}
}
