package edge

import (
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/porchedge/porch/host/config"
	"github.com/porchedge/porch/host/exchange"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// TestLargeUpload streams 1 GiB of known length to the upstream, and then some in chunks.
func TestLargeUpload(t *testing.T) {
	if testing.Short() {
		t.Skip("moves a gibibyte")
	}
	var got atomic.Int64
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		n, err := io.Copy(io.Discard, x.Request.Stream)
		if err != nil {
			return err
		}
		got.Store(n)
		respond(x, 200, "ok")
		return nil
	}}
	c := start(t, f, func(c *config.Server) { c.MaxBody = 2 * gib }).dial(t)
	piece := make([]byte, mib)
	heap := watchHeap(t)
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n")
	for range gib / mib {
		c.write(piece)
	}
	if _, body := c.answer("POST"); body != "ok" || got.Load() != gib {
		t.Errorf("%q, %d bytes", body, got.Load())
	}
	c.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range 64 {
		c.send("100000\r\n")
		c.write(piece)
		c.send("\r\n")
	}
	c.send("0\r\n\r\n")
	if _, body := c.answer("POST"); body != "ok" || got.Load() != 64*mib {
		t.Errorf("%q, %d bytes", body, got.Load())
	}
	heap()
}

// TestLargeDownload streams 1 GiB of unknown length to the client, and then some of known length.
func TestLargeDownload(t *testing.T) {
	if testing.Short() {
		t.Skip("moves a gibibyte")
	}
	f := &fakeChain{finish: func(x *exchange.Exchange) error {
		if string(x.Request.Path) == "/known" {
			respondStream(x, 64*mib, io.NopCloser(io.LimitReader(endless{}, 64*mib)))
		} else {
			respondStream(x, -1, io.NopCloser(io.LimitReader(endless{}, gib)))
		}
		return nil
	}}
	c := start(t, f).dial(t)
	heap := watchHeap(t)
	for _, tt := range []struct {
		path string
		size int64
	}{{"/unknown", gib}, {"/known", 64 * mib}} {
		c.send("GET " + tt.path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if n := c.discard(); n != tt.size {
			t.Errorf("%s: %d bytes", tt.path, n)
		}
	}
	heap()
}

// watchHeap returns a check that little was allocated meanwhile: what streams is not kept.
func watchHeap(t *testing.T) func() {
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() {
		t.Helper()
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 16*mib {
			t.Errorf("%d MiB were allocated", grown/mib)
		}
	}
}
