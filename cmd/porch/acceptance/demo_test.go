package acceptance

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The demo prints three commands; run as printed they show a 429, a replay and a 422.
func TestDemoShowsWhatItSays(t *testing.T) {
	t.Parallel()
	cmd := command("demo", "--listen", freeAddress(t))
	cmd.Dir = t.TempDir()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs := &capture{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of the demo:\n%s", errs.tail())
		}
	})
	overdue := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer overdue.Stop()
	var commands []string
	var printed strings.Builder
	for in := bufio.NewScanner(out); len(commands) < 3 && in.Scan(); {
		printed.WriteString(in.Text() + "\n")
		if line := strings.TrimSpace(in.Text()); strings.Contains(line, "curl ") {
			commands = append(commands, line)
		}
	}
	if len(commands) != 3 {
		t.Fatalf("%d commands:\n%s", len(commands), printed.String())
	}
	var shown []string
	for _, line := range commands {
		got, err := exec.Command("sh", "-c", line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
		shown = append(shown, string(got))
	}
	for i, want := range []string{"429", "Idempotent-Replayed: true", "422"} {
		if !strings.Contains(strings.ToLower(shown[i]), strings.ToLower(want)) {
			t.Errorf("%s shows no %s:\n%s", commands[i], want, shown[i])
		}
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the demo ends with %v", err)
	}
}
