// Package demo is the small service that `porch demo` puts Porch before: orders that can be placed and
// counted. The command starts it and prints what to try. Its rows are in memory and gone with the process, so
// what survives a crash is shown by Porch alone.
package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxRows  = 1000     // kept; older ones give way, and still count
	maxOrder = 64 << 10 // bytes of one order
	maxDelay = time.Minute
)

// order is one row.
type order struct {
	ID    int64           `json:"id"`
	Order json.RawMessage `json:"order"`
}

// orders is the table and the handler of its service.
type orders struct {
	http.ServeMux
	mu struct {
		sync.Mutex
		rows     []order // the newest
		inserted int64
	}
}

func newOrders() *orders {
	o := &orders{}
	o.HandleFunc("POST /orders", o.place)
	o.HandleFunc("GET /orders", o.list)
	o.HandleFunc("GET /orders/count", o.count)
	return o
}

// place inserts a row for the JSON in the body, after the time that ?delay= names, and answers with it.
func (o *orders) place(w http.ResponseWriter, r *http.Request) {
	delay, err := delayOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil || !json.Valid(body) {
		http.Error(w, "the order must be JSON", http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		http.Error(w, "the service is stopping, or the caller has gone", http.StatusServiceUnavailable)
		return
	}
	placed := o.insert(body)
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", placed.ID))
	answer(w, http.StatusCreated, placed)
}

func (o *orders) insert(body []byte) order {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.inserted++
	placed := order{o.mu.inserted, body}
	if len(o.mu.rows) == maxRows {
		copy(o.mu.rows, o.mu.rows[1:])
		o.mu.rows = o.mu.rows[:maxRows-1]
	}
	o.mu.rows = append(o.mu.rows, placed)
	return placed
}

// list answers with the newest rows, oldest first.
func (o *orders) list(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	rows := append([]order{}, o.mu.rows...)
	o.mu.Unlock()
	answer(w, http.StatusOK, rows)
}

// count answers with the number of rows that were ever inserted: how often an order was really placed.
func (o *orders) count(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	inserted := o.mu.inserted
	o.mu.Unlock()
	answer(w, http.StatusOK, map[string]int64{"count": inserted})
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value) // the caller may have gone
}

// delayOf reads ?delay=, a duration up to maxDelay.
func delayOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("delay")
	if text == "" {
		return 0, nil
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > maxDelay {
		return 0, fmt.Errorf("delay: want a duration from 0s to %v, such as 2s", maxDelay)
	}
	return delay, nil
}
