// Package admin is the operator's own listener: health, readiness and metrics. The host opens it before
// anything else can fail and closes it last, so that an operator can always ask. It holds no state; a
// crash loses nothing.
package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of the listener. It serves a few probes and scrapers, never clients.
const (
	maxConnections = 64
	maxHead        = 16 << 10
	readTimeout    = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = time.Minute
)

// Config is what New needs.
type Config struct {
	Listener net.Listener // closed by Close
	// Ready is nil while clients are served, else the reason why not. Its text is for the operator.
	Ready   func() error
	Metrics http.Handler
	Logger  *slog.Logger
}

// Server serves the pages.
type Server struct {
	listener net.Listener
	http     http.Server
	done     chan struct{} // closed when serving has ended
	served   error         // why, once done
}

// New starts to serve at once.
func New(cfg Config) *Server {
	s := &Server{listener: limit(cfg.Listener, maxConnections), done: make(chan struct{})}
	s.http = http.Server{
		Handler:        pages(cfg.Ready, cfg.Metrics),
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHead,
		ErrorLog:       slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	// Stops when Close closes the server, and Close waits for it.
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.served = err
			cfg.Logger.Error("admin listener failed", "error", err)
		}
	}()
	return s
}

// Close answers what was asked, then ends the listener and its connections.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return errors.Join(err, s.served)
}

func pages(ready func() error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "alive")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}

func answer(w http.ResponseWriter, status int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, line+"\n")
}
