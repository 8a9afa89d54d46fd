package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// printTable prints the medians over all rounds. A ratio is the median of the rounds' ratios, since the turns
// within one round met the same conditions.
func printTable(w io.Writer, all []round, l load) error {
	pool64 := func(r round) turn { return r.pool64 }
	pool512 := func(r round) turn { return r.pool512 }
	bare64 := func(r round) turn { return r.bare64 }
	bare512 := func(r round) turn { return r.bare512 }
	redis := func(r round) turn { return r.redis }
	fmt.Fprintf(w, "%d rounds of %v, %d random keys; medians. Only ratios carry over to other machines.\n\n", len(all), l.duration, l.keys)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tcharges/s\tper commit\t× Redis\t× bare Pebble\t")
	for _, s := range []struct {
		name     string
		of, bare func(round) turn
	}{
		{"pool, 64 callers", pool64, bare64},
		{"bare Pebble, same batches", bare64, nil},
		{"pool, 512 callers", pool512, bare512},
		{"bare Pebble, same batches", bare512, nil},
		{"Redis INCR, 64 clients", redis, nil},
	} {
		of, bare := s.of, "-"
		if s.bare != nil {
			bare = ratio(all, of, s.bare)
		}
		batch := median(all, func(r round) float64 { return of(r).batch })
		fmt.Fprintf(t, "%s\t%.0f\t%.1f\t%s\t%s\t\n", s.name,
			median(all, func(r round) float64 { return of(r).perSecond }), batch, ratio(all, of, redis), bare)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
at 512 callers: %s × Redis (goal: at least 5), %s of bare Pebble (goal: at least 0.60)
at 64 callers:  %s × Redis (goal: at least 1.4), %s of bare Pebble (goal: at least 0.60)
`, ratio(all, pool512, redis), ratio(all, pool512, bare512), ratio(all, pool64, redis), ratio(all, pool64, bare64))
	return err
}

func median(all []round, of func(round) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// ratio is that of charges per second; "-" where the other one was left out.
func ratio(all []round, of, base func(round) turn) string {
	if base(all[0]).perSecond == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", median(all, func(r round) float64 { return of(r).perSecond / base(r).perSecond }))
}
