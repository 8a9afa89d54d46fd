package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/porchedge/porch/host/token"
)

// tokens counts what became of tokens, and changed files of keys. It is a part of the observer of host/wasm.
type tokens struct {
	verified *prometheus.CounterVec
	keys     *prometheus.CounterVec
	children series[verification, prometheus.Counter]
}

type verification struct {
	filter  string
	outcome token.Outcome
}

func (t *tokens) register(r *prometheus.Registry) {
	t.verified = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_tokens_verified_total",
		Help: "Tokens that filters had verified, by outcome: good, or why not.",
	}, []string{"filter", "outcome"})
	t.keys = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_token_keys_changed_total",
		Help: "Changed files of keys, by result: taken, refused.",
	}, []string{"filter", "result"})
	r.MustRegister(t.verified, t.keys)
}

// Verified counts a token.
func (m *Metrics) Verified(filter string, outcome token.Outcome) {
	m.tokens.children.get(verification{filter, outcome}, m.tokens.child).Inc()
}

func (t *tokens) child(v verification) prometheus.Counter {
	return t.verified.WithLabelValues(v.filter, v.outcome.String())
}

// KeysChanged counts a changed file of keys.
func (m *Metrics) KeysChanged(filter string, taken bool) {
	result := "refused"
	if taken {
		result = "taken"
	}
	m.tokens.keys.WithLabelValues(filter, result).Inc()
}
