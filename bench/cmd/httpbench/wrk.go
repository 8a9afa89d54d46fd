package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// driven is what wrk says of one run.
type driven struct {
	perSecond float64
	requests  int64
}

// drive loads the proxy at addr for one turn. A response that is no success, or a connection that breaks,
// fails the run: what it would measure is something else.
func drive(ctx context.Context, addr, script string, l load) (driven, error) {
	args := []string{
		"-t", "1",
		"-c", strconv.Itoa(l.connections),
		"-d", strconv.Itoa(int(max(l.duration, time.Second)/time.Second)) + "s",
	}
	if script != "" {
		file, err := os.CreateTemp("", "httpbench-*.lua")
		if err != nil {
			return driven{}, err
		}
		defer os.Remove(file.Name())
		defer file.Close()
		if _, err := file.WriteString(script); err != nil {
			return driven{}, err
		}
		args = append(args, "-s", file.Name())
	}
	text, err := exec.CommandContext(ctx, "wrk", append(args, "http://"+addr+"/")...).CombinedOutput()
	if err != nil {
		return driven{}, fmt.Errorf("wrk: %w: %s", err, text)
	}
	return parseWrk(string(text))
}

var (
	wrkTotal  = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)
	wrkRate   = regexp.MustCompile(`(?m)^Requests/sec:\s*([\d.]+)`)
	wrkFailed = regexp.MustCompile(`(?m)^\s*(Non-2xx or 3xx responses:|Socket errors:).*`)
)

func parseWrk(text string) (driven, error) {
	if failed := wrkFailed.FindString(text); failed != "" {
		return driven{}, fmt.Errorf("wrk: %s", failed)
	}
	total, rate := wrkTotal.FindStringSubmatch(text), wrkRate.FindStringSubmatch(text)
	if total == nil || rate == nil {
		return driven{}, fmt.Errorf("wrk: unknown output: %s", text)
	}
	requests, err := strconv.ParseInt(total[1], 10, 64)
	if err != nil || requests == 0 {
		return driven{}, fmt.Errorf("wrk: no requests: %s", text)
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	return driven{perSecond, requests}, err
}
