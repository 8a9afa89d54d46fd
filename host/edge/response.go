package edge

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/porchedge/porch/host/edge/problem"
	"github.com/porchedge/porch/host/exchange"
)

// write hands the response to fasthttp, which writes it when the handler has returned; or writes it here
// where fasthttp could not.
func (c *call) write(ctx *fasthttp.RequestCtx) {
	x, out := c.x, &ctx.Response
	r := &x.Response
	if r.Status < http.StatusOK || r.Status > lastStatus {
		c.server.log.LogAttrs(context.Background(), slog.LevelError, "response with an impossible status",
			slog.String("route", x.Route), slog.String("request", x.ID), slog.Int("status", r.Status))
		r.Close()
		problem.Fill(x, problem.Problem{Status: http.StatusBadGateway, Detail: "the answer cannot be used"})
	}
	status := r.Status
	bodiless := ctx.IsHead() || status == http.StatusNoContent || status == http.StatusNotModified
	if bodiless {
		r.Close()
	}
	out.Header.DisableNormalizing()
	out.SetStatusCode(status)
	writeFields(&out.Header, &r.Header, bodiless)
	// A request body that was not read whole stays in the connection. fasthttp drops what little is left,
	// and closes where it is much.
	unread := c.body != nil && !c.body.whole()
	if c.server.conns.Draining() || unread && c.body.broken() {
		out.SetConnectionClose()
	}
	if r.Body.Stream == nil {
		if !bodiless {
			out.SetBodyRaw(r.Body.Bytes)
		} else if ctx.IsHead() && len(r.Body.Bytes) > 0 {
			out.Header.SetContentLength(len(r.Body.Bytes))
		}
		c.end(status)
		return
	}
	s := c.stream(&out.Header)
	switch {
	case s.length < 0 && !ctx.Request.Header.IsHTTP11():
		c.writeToClose(out, s)
	case unread:
		out.SetConnectionClose()
		c.writeHere(out, s)
	default:
		out.SetBodyStream(s, int(s.length))
		out.ImmediateHeaderFlush = s.length < 0
	}
}

const lastStatus = 999

// writeFields writes the fields, but for those that this server sets by itself: the framing, and Date,
// which is always fresh, since a stored response must not show an old one.
func writeFields(out *fasthttp.ResponseHeader, fields *exchange.Header, bodiless bool) {
	fields.RemoveHopByHop()
	for _, f := range fields.Fields {
		switch {
		case is(f.Name, "Date"), is(f.Name, "Trailer"):
		case is(f.Name, "Content-Length") && !bodiless: // else it tells of the body that a GET would have had
		default:
			out.AddBytesKV(f.Name, f.Value)
		}
	}
}

func is(b []byte, name string) bool {
	return len(b) == len(name) && bytes.EqualFold(b, []byte(name))
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBuffer) }}

// writeHere writes a response while its request's body may still be read by the upstream: the two go on
// side by side, which fasthttp does not allow once the handler has returned. The connection closes after
// it, since where the body ends is no longer known to fasthttp.
func (c *call) writeHere(out *fasthttp.Response, s *stream) {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c.conn)
	out.SetBodyStream(s, int(s.length))
	out.ImmediateHeaderFlush = true
	err := out.Write(w) // closes s
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	writers.Put(w)
	if err != nil {
		c.conn.Quit()
		return
	}
	c.conn.Close() //nolint:errcheck // the response has left
}

// writeToClose writes a response of unknown length to a client of HTTP/1.0, which knows no chunks: the
// body ends with the connection. So one that broke off must end in a reset, or it would look whole.
func (c *call) writeToClose(out *fasthttp.Response, s *stream) {
	out.SetConnectionClose()
	_, err := c.conn.Write(out.Header.Header())
	if err == nil {
		_, err = s.WriteTo(c.conn)
	}
	s.Close() //nolint:errcheck // always nil
	if err != nil {
		c.conn.Abort()
		return
	}
	c.conn.Close() //nolint:errcheck // the response has left
}
