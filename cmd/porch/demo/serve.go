package demo

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	headTimeout = 10 * time.Second
	grace       = 5 * time.Second // for answers in progress, after ctx has ended
)

// Serve serves the orders on l until ctx ends. Orders that still wait are then given up, and nothing of the
// service runs any more when it returns. It returns nil where ctx was the reason.
func Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           newOrders(),
		ReadHeaderTimeout: headTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	// Stops when the server is shut down or cannot accept; both cases below wait for it.
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(ending)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	<-served
	return err
}
