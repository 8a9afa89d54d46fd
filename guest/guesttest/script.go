package guesttest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/porchedge/porch/abi"
)

// Filter is a filter under test: the functions behind its exports. Configure and Response may be nil.
type Filter struct {
	Configure, Request, Response func() int32
}

// Script runs a filter through a script and compares what it did with what the script says; with the test
// flag -rewrite it writes that instead. A command stands above its input and, after "----", its output:
//
//	configure [filter=NAME]                 the configuration, JSON
//	request [peer=A] [client=A] [route=R] [id=I] [fail=saturated|unavailable|capacity]
//	                                        a request head, an empty line and the body
//	token text=T [fail=untrusted|expired|early]
//	                                        a token that the host knows, with its claims, JSON
//	property name=FILTER/NAME value=V       what another filter leaves for the next request
//	response [status=N]                     the header of a response to the last request, on its way back
//	finish [stored|lost]                    ends the flight that the last request owns
//	unsent                                  gives back what the last request reserved
//	advance DURATION                        moves the clocks
func Script(t *testing.T, path string, h *Host, f Filter) {
	s := &script{host: h, filter: f}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		return s.run(t, d)
	})
}

type script struct {
	host       *Host
	filter     Filter
	last       *Exchange
	properties []Field
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "configure":
		return s.configure(d)
	case "token":
		s.token(t, d)
		return ""
	case "property":
		var name, value string
		d.ScanArgs(t, "name", &name)
		d.ScanArgs(t, "value", &value)
		s.properties = append(s.properties, Field{name, strings.ReplaceAll(value, "_", " ")})
		return ""
	case "request":
		return s.request(t, d)
	case "response":
		return s.response(t, d)
	case "finish":
		if d.HasArg("lost") {
			s.host.Lose(s.last)
			return ""
		}
		s.host.Finish(s.last, d.HasArg("stored"))
		return ""
	case "unsent":
		s.host.Unsent(s.last)
		return ""
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		s.host.Advance(by)
		return ""
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return ""
	}
}

func (s *script) configure(d *datadriven.TestData) string {
	h := s.host
	if len(d.CmdArgs) == 1 {
		h.Filter = d.CmdArgs[0].Vals[0]
	}
	var b strings.Builder
	accepted := h.Configure(s.filter.Configure, d.Input)
	for i, p := range h.Policies {
		fmt.Fprintf(&b, "policy %d kind %d %s: %s\n", i, p.Kind, p.Name, p.Spec)
	}
	for i, spec := range h.Verifiers {
		fmt.Fprintf(&b, "verifier %d: %s\n", i, spec)
	}
	for _, n := range h.Needs {
		fmt.Fprintf(&b, "need %d for %q up to %d\n", n.Features, n.Header, n.Cap)
	}
	for _, r := range h.Rejections {
		fmt.Fprintf(&b, "%s: %s\n", r.Pointer, r.Reason)
	}
	if accepted {
		b.WriteString("accepted\n")
	} else {
		b.WriteString("refused\n")
	}
	return b.String()
}

func (s *script) token(t *testing.T, d *datadriven.TestData) {
	var text, fail string
	d.ScanArgs(t, "text", &text)
	d.MaybeScanArgs(t, "fail", &fail)
	s.host.Tokens[text] = Token{d.Input, map[string]abi.Condition{
		"": 0, "untrusted": abi.Untrusted, "expired": abi.Expired, "early": abi.Early,
	}[fail]}
}

func (s *script) request(t *testing.T, d *datadriven.TestData) string {
	r, err := parseRequest(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		switch arg.Key {
		case "peer":
			r.Peer = value
		case "client":
			r.Client = value
		case "route":
			r.Route = value
		case "id":
			r.ID = value
		case "fail":
			s.host.FailNext(map[string]abi.Condition{
				"saturated": abi.Saturated, "unavailable": abi.Unavailable, "capacity": abi.Capacity,
			}[value])
		default:
			d.Fatalf(t, "unknown argument %s", arg.Key)
		}
	}
	r.Properties, s.properties = s.properties, nil
	lines := len(s.host.Lines)
	s.last = s.host.Request(s.filter.Request, r)
	return renderRequest(s.last, r.Properties) + renderLines(s.host.Lines[lines:])
}

func (s *script) response(t *testing.T, d *datadriven.TestData) string {
	status := http.StatusOK
	if d.HasArg("status") {
		d.ScanArgs(t, "status", &status)
	}
	header, err := parseHeader(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	s.last.Properties = append(s.last.Properties, s.properties...)
	s.properties = nil
	lines := len(s.host.Lines)
	s.host.Response(s.filter.Response, s.last, status, header...)
	var b strings.Builder
	if s.last.Failed {
		b.WriteString("failed\n")
	}
	fmt.Fprintf(&b, "%d\n", s.last.Response.Status)
	renderFields(&b, s.last.Response.Header)
	return b.String() + renderLines(s.host.Lines[lines:])
}

// parseRequest reads a request head and body. Lines are kept as they stand, so that a script can send what
// a strict parser would refuse.
func parseRequest(text string) (Request, error) {
	head, body, _ := strings.Cut(text, "\n\n")
	line, rest, _ := strings.Cut(head, "\n")
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		return Request{}, fmt.Errorf("request line %q: want METHOD target", line)
	}
	header, err := parseHeader(rest)
	return Request{Method: method, Target: target, Header: header, Body: []byte(body)}, err
}

func parseHeader(text string) ([]Field, error) {
	var header []Field
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("header line %q: want Name: value", lines.Text())
		}
		header = append(header, Field{name, decodeHex(strings.TrimSpace(value))})
	}
	return header, lines.Err()
}

// decodeHex turns \xNN into that byte, for values that no text file should hold.
func decodeHex(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], `\x`) && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func renderRequest(x *Exchange, given []Field) string {
	var b strings.Builder
	switch {
	case x.Failed:
		b.WriteString("failed\n")
	case x.Status != 0:
		fmt.Fprintf(&b, "answers %d\n", x.Status)
		renderFields(&b, x.Answer())
		fmt.Fprintf(&b, "body %s\n", x.Body)
	case x.Condition != 0:
		fmt.Fprintf(&b, "continues, and the host answers 503 (condition %d)\n", x.Condition)
	default:
		b.WriteString("continues\n")
		for _, op := range x.Recorded {
			fmt.Fprintf(&b, "%s %s: %s\n", op.Verb, op.Name, op.Value)
		}
	}
	if x.Claimed {
		fmt.Fprintf(&b, "claim %q: %s\n", x.Key, ClaimName(x.Claim))
	}
	for _, p := range x.Properties {
		if !slices.Contains(given, p) {
			fmt.Fprintf(&b, "property %s: %s\n", p.Name, p.Value)
		}
	}
	return b.String()
}

func renderFields(w io.Writer, header []Field) {
	for _, f := range header {
		fmt.Fprintf(w, "%s: %s\n", f.Name, f.Value)
	}
}

func renderLines(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("log " + l + "\n")
	}
	return b.String()
}
