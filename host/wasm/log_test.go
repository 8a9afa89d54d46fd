package wasm

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestVoiceIsBounded(t *testing.T) {
	out := new(journal)
	now := time.Unix(1000, 0)
	v := voice{log: slog.New(slog.NewTextHandler(out, nil)), now: func() time.Time { return now }}
	for range linesPerSecond + 5 {
		v.say(slog.LevelInfo, []byte("hello"))
	}
	v.say(slog.LevelDebug, []byte("not enabled"))
	if got := strings.Count(out.String(), "text=hello"); got != linesPerSecond {
		t.Errorf("%d lines in the first second", got)
	}
	now = now.Add(time.Second)
	v.say(slog.LevelInfo, []byte("again"))
	wantLog(t, out, "dropped=5")
	wantLog(t, out, "text=again")
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                    "plain",
		"two\nlines\r\x00\x1b[31m": "two lines   [31m",
		"nel\u0085 ls\u2028 ps":    "nel  ls  ps",
		"cut here":                 "cut here",
		"not utf-8 \xff":           "not utf-8 \uFFFD",
		"grüße":                    "grüße",
	} {
		if got := oneLine([]byte(text), 64); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := oneLine([]byte(strings.Repeat("a", 70)), 64); len(got) != 64 {
		t.Errorf("%d bytes", len(got))
	}
}
