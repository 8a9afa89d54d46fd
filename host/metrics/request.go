package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/porchedge/porch/host/edge"
)

// requests counts what clients were answered. It is the observer of host/edge.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	children series[request, *requestSeries]
	edge     sources[struct{}, edge.Stats]
}

type request struct{ route, status string }

type requestSeries struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

// noRoute is the label of requests for which no route was chosen. Names of routes hold a slash.
const noRoute = "none"

func (r *requests) register(registry *prometheus.Registry) {
	r.total = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "porch_http_requests_total",
		Help: "Requests of clients, by route and class of the response's status; \"closed\" where there was no response.",
	}, []string{"route", "status"})
	r.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "porch_http_request_duration_seconds",
		Help:    "Time from a request's head to the end of its response.",
		Buckets: durations,
	}, []string{"route"})
	registry.MustRegister(r.total, r.duration)
}

// Served counts one request that has ended; status 0 is a connection closed without a response.
func (m *Metrics) Served(route string, status int, took time.Duration) {
	if route == "" {
		route = noRoute
	}
	r := &m.requests
	c := r.children.get(request{route, class(status)}, r.child)
	c.total.Inc()
	c.duration.Observe(took.Seconds())
}

func (r *requests) child(k request) *requestSeries {
	return &requestSeries{r.total.WithLabelValues(k.route, k.status), r.duration.WithLabelValues(k.route)}
}

func class(status int) string {
	switch status / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	default:
		return "closed"
	}
}

// EdgeOpened shows the state of the edge.
func (m *Metrics) EdgeOpened(stats func() edge.Stats) {
	m.requests.edge.add(struct{}{}, stats)
}

func (r *requests) collect(p page) {
	for _, s := range r.edge.sum(func(_, now edge.Stats) edge.Stats { return now }) {
		p.gauge(connections, s.Connections)
		p.gauge(connectionsBound, s.MaxConnections)
		p.counter(connectionsRefused, uint64(s.TurnedAway))
		p.gauge(requestsInFlight, int(s.Requests))
		p.gauge(heldBodies, int(s.HeldBodies))
		p.gauge(heldBytes, int(s.HeldBytes))
	}
}

var (
	connections        = describe("porch_http_connections", "Open connections of clients.")
	connectionsBound   = describe("porch_http_connections_bound", "Most connections of clients there may be.")
	connectionsRefused = describe("porch_http_connections_refused_total", "Connections of clients that came above the bound.")
	requestsInFlight   = describe("porch_http_requests_in_flight", "Requests from their head to the end of their response.")
	heldBodies         = describe("porch_http_held_bodies", "Request bodies in memory, since a filter needs them.")
	heldBytes          = describe("porch_http_held_bytes", "Size of the request bodies in memory.")
)
