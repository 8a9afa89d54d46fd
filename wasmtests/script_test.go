package wasmtests

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/porchedge/porch/abi"
	"github.com/porchedge/porch/wasmtests/kit"
)

// Conditions as scripts report them.
var (
	absent      = fmt.Sprint(int(abi.Absent))
	invalid     = fmt.Sprint(int(abi.Invalid))
	tooLarge    = fmt.Sprint(int(abi.TooLarge))
	wrongPhase  = fmt.Sprint(int(abi.WrongPhase))
	saturated   = fmt.Sprint(int(abi.Saturated))
	unavailable = fmt.Sprint(int(abi.Unavailable))
	denied      = fmt.Sprint(int(abi.Denied))
)

const done = "0"

// probeFuel lets the probe read and write the largest fields that there are.
const probeFuel = 1 << 30

// probing is the probe as a filter, with a script for porch_configure.
func probing(name string, configure ...string) kit.Filter {
	return kit.Filter{Name: name, Module: probe, Timeout: patience, Fuel: probeFuel, Instances: 2, Config: fmt.Sprintf(`{"probe":%q}`, join(configure))}
}

func join(commands []string) string { return strings.Join(commands, ";") }

// word writes a text as one word of a script.
func word(text string) string {
	if text == "" {
		return "-"
	}
	if strings.HasPrefix(text, "@") {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c > ' ' && c < 0x7f && !strings.ContainsRune(`%;,"\-|<>&@`, rune(c)) {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02x", c)
		}
	}
	return out.String()
}

// Commands of scripts.

func get(f abi.Field, name string) string { return fmt.Sprintf("get %d %s 65536", f, word(name)) }

func getInto(f abi.Field, name string, size int) string {
	return fmt.Sprintf("get %d %s %d", f, word(name), size)
}
func list(f abi.Field, name string) string { return fmt.Sprintf("list %d %s 65536", f, word(name)) }

func set(f abi.Field, name, value string) string {
	return fmt.Sprintf("set %d %s %s", f, word(name), word(value))
}

func add(f abi.Field, name, value string) string {
	return fmt.Sprintf("add %d %s %s", f, word(name), word(value))
}
func remove(f abi.Field, name string) string { return fmt.Sprintf("remove %d %s", f, word(name)) }
func respond(status int) string              { return fmt.Sprintf("respond %d", status) }

func policy(kind abi.Kind, name, spec string) string {
	return fmt.Sprintf("policy %d %s %s", kind, word(name), word(spec))
}

func charge(policy int, key string, cost, limit int64) string {
	return fmt.Sprintf("%d|%s|%d|%d", policy, word(key), cost, limit)
}
func count(charges ...string) string { return "count " + strings.Join(charges, " ") }

func begin(policy int, key, digest string) string {
	return fmt.Sprintf("begin %d %s %s", policy, word(key), digest)
}

// asking is a request that has filter name run a script.
func asking(name string, commands ...string) request {
	return request{header: []string{"Probe-Request-" + name, join(commands)}}
}

// inResponse adds a script for the way back.
func (r request) inResponse(name string, commands ...string) request {
	r.header = append(slices.Clone(r.header), "Probe-Response-"+name, join(commands))
	return r
}

// with adds to a request.
func (r request) with(change func(r *request)) request {
	r.header = slices.Clone(r.header)
	change(&r)
	return r
}

// results are what a script reported in the request phase, with what functions wrote as it was.
func (s *site) results(a answer, name string) []string {
	s.t.Helper()
	return s.decoded(a, "Probe-Result-"+name)
}

// backResults are those of the response phase.
func (s *site) backResults(a answer, name string) []string {
	s.t.Helper()
	return s.decoded(a, "Probe-Back-"+name)
}

func (s *site) decoded(a answer, header string) []string {
	s.t.Helper()
	text := a.header.Get(header)
	if text == "" {
		s.t.Fatalf("no %s in the answer: %d %v %s\n%s", header, a.status, a.header, a.body, s.log)
	}
	return unescaped(s.t, text)
}

func unescaped(t *testing.T, text string) []string {
	t.Helper()
	var results []string
	for r := range strings.SplitSeq(text, ",") {
		plain, err := url.PathUnescape(r)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, plain)
	}
	return results
}

// run sends GET / with a script for filter p and returns its results.
func (s *site) run(commands ...string) []string {
	s.t.Helper()
	return s.results(s.send(asking("p", commands...)), "p")
}

// runBack does so for the way back.
func (s *site) runBack(commands ...string) []string {
	s.t.Helper()
	return s.backResults(s.send(request{}.inResponse("p", commands...)), "p")
}

// configured are the results of porch_configure.
func (s *site) configured() []string {
	s.t.Helper()
	_, text, _ := strings.Cut(s.run("configured")[0], ":")
	return unescaped(s.t, text)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
