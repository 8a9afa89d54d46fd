package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// printTable prints the medians over all rounds. A ratio is the median of the rounds' ratios, since the
// turns within one round met the same conditions.
func printTable(w io.Writer, subjects []*subject, l load) error {
	plain, limitReq := find(subjects, namePlain), find(subjects, nameLimitReq)
	fmt.Fprintf(w, "%d rounds of %v, %d connections; medians. Only ratios carry over to other machines.\n\n", l.rounds, l.duration, l.connections)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\trequests/s\t× no filters\tCPU/request\t× no filters\t× limit_req\t")
	for _, s := range subjects {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.1f µs\t%.2f\t%.2f\t\n", s.name,
			median(s, result.rate), ratio(s, plain, result.rate),
			median(s, result.cost), ratio(s, plain, result.cost), ratio(s, limitReq, result.cost))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	none, sync := find(subjects, nameNone), find(subjects, nameSync)
	_, err := fmt.Fprintf(w, `
ratelimit none: %.2f × the processor time of no filters (goal: at most 1.15)
ratelimit sync: %.2f × nginx limit_req (goal: at most 1); %.1f µs of it are for commits, the difference to none
stored replay:  %.2f × the requests per second of no filters (goal: at least 1)
`,
		ratio(none, plain, result.cost),
		ratio(sync, limitReq, result.cost), median(sync, result.cost)-median(none, result.cost),
		ratio(find(subjects, nameReplay), plain, result.rate))
	return err
}

func (r result) rate() float64 { return r.perSecond }

// cost is the processor time per request in microseconds.
func (r result) cost() float64 { return float64(r.cpu) / float64(time.Microsecond) }

func find(subjects []*subject, name string) *subject {
	i := slices.IndexFunc(subjects, func(s *subject) bool { return s.name == name })
	if i < 0 {
		panic("httpbench: no subject " + name)
	}
	return subjects[i]
}

func median(s *subject, of func(result) float64) float64 {
	values := make([]float64, len(s.results))
	for i, r := range s.results {
		values[i] = of(r)
	}
	return middle(values)
}

// ratio is the median over the rounds of s against base.
func ratio(s, base *subject, of func(result) float64) float64 {
	values := make([]float64, len(s.results))
	for i, r := range s.results {
		values[i] = of(r) / of(base.results[i])
	}
	return middle(values)
}

// middle is the median of values.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
