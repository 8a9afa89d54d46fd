package wasm

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/porchedge/porch/abi"
)

// linesPerSecond bounds what the guests of one version may log.
const linesPerSecond = 100

// voice writes what the guests of one version say to the log: one line each, bounded in length and in
// number. Lines beyond that are counted and the count is logged.
type voice struct {
	log *slog.Logger
	now func() time.Time

	mu struct {
		sync.Mutex
		second  time.Time // when the present budget began
		written int
		dropped int
	}
}

// say writes one line that a guest wrote.
func (v *voice) say(level slog.Level, text []byte) {
	if v.log.Enabled(context.Background(), level) && v.mayWrite() {
		v.log.LogAttrs(context.Background(), level, "filter says", slog.String("text", oneLine(text, abi.MaxLogLine)))
	}
}

// trapped writes what the engine said about a guest's death.
func (v *voice) trapped(cause Cause, err error) {
	if v.mayWrite() {
		v.log.LogAttrs(context.Background(), slog.LevelWarn, "filter died",
			slog.String("cause", cause.String()), slog.String("error", oneLine([]byte(err.Error()), abi.MaxLogLine)))
	}
}

func (v *voice) mayWrite() bool {
	v.mu.Lock()
	dropped := 0
	if now := v.now(); now.Sub(v.mu.second) >= time.Second {
		dropped = v.mu.dropped
		v.mu.second, v.mu.written, v.mu.dropped = now, 0, 0
	}
	may := v.mu.written < linesPerSecond
	if may {
		v.mu.written++
	} else {
		v.mu.dropped++
	}
	v.mu.Unlock()
	if dropped > 0 {
		v.log.LogAttrs(context.Background(), slog.LevelWarn, "filter says too much", slog.Int("dropped", dropped))
	}
	return may
}

var levels = [...]slog.Level{
	abi.LevelDebug: slog.LevelDebug,
	abi.LevelInfo:  slog.LevelInfo,
	abi.LevelWarn:  slog.LevelWarn,
	abi.LevelError: slog.LevelError,
}

// log writes a line.
func (in *instance) log(stack []uint64) int64 {
	level := int32(uint32(stack[0]))
	text := in.bytes(stack[1], stack[2])
	if level < 0 || int(level) >= len(levels) {
		return condition(abi.Invalid)
	}
	in.pause()
	in.version.voice.say(levels[level], text)
	in.resume()
	return condition(ok)
}

// lines is a guest's stdout or stderr: it makes log lines of what is written. Of a longer line only the
// beginning is kept. It belongs to the goroutine that calls the instance.
type lines struct {
	in    *instance
	level slog.Level
	line  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.in.inTime()
	for _, c := range p {
		if c == '\n' {
			l.flush()
		} else if len(l.line) < abi.MaxLogLine {
			l.line = append(l.line, c)
		}
	}
	return len(p), nil
}

// flush logs what has no end yet.
func (l *lines) flush() {
	if len(l.line) > 0 {
		l.in.pause()
		l.in.version.voice.say(l.level, l.line)
		l.in.resume()
	}
	l.line = l.line[:0]
}
