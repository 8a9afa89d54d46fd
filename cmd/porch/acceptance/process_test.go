package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one porch under test, and what it takes to start it again on the same data and ports.
type process struct {
	t      *testing.T
	dir    string // porch.yaml, modules, and the folder data
	listen string
	admin  string
	args   []string
	env    []string // besides that of every process

	cmd    *exec.Cmd
	exited chan struct{} // closed once cmd has been waited for
	stderr *capture
	// quiet is the number of goroutines once ready, before any request.
	quiet float64
}

// launch starts porch with c and returns when it is ready. When the test ends, the process must have come
// to rest, and must end well.
func launch(t *testing.T, c config) *process {
	t.Helper()
	p := prepare(t, c)
	p.begin()
	return p
}

// prepare is launch without the start.
func prepare(t *testing.T, c config) *process {
	t.Helper()
	p := &process{t: t, dir: t.TempDir(), listen: freeAddress(t), admin: freeAddress(t), stderr: &capture{}}
	p.configure(c)
	p.args = []string{"run", "--config", p.file()}
	t.Cleanup(func() {
		defer func() {
			if p.cmd != nil && !p.hasExited() {
				p.kill()
			}
			if t.Failed() {
				t.Logf("stderr of porch:\n%s", p.stderr.tail())
			}
		}()
		if p.cmd != nil && !p.hasExited() && !t.Failed() {
			p.rest()
			p.terminate()
		}
	})
	return p
}

func (p *process) file() string { return filepath.Join(p.dir, "porch.yaml") }
func (p *process) data() string { return filepath.Join(p.dir, "data") }

// configure replaces the configuration file, as an editor does: by a rename.
func (p *process) configure(c config) {
	p.t.Helper()
	p.replace("porch.yaml", []byte(c.yaml(p.listen, p.admin)))
}

// replace writes a file of the process's folder by a rename.
func (p *process) replace(name string, content []byte) {
	p.t.Helper()
	next := filepath.Join(p.dir, "."+name+".next")
	if err := os.WriteFile(next, content, 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// begin starts the process and returns when it is ready.
func (p *process) begin() {
	p.t.Helper()
	p.spawn()
	await(p.t, "porch is ready", func() bool {
		if p.hasExited() {
			p.t.Fatalf("porch ended before it was ready: %v", p.cmd.ProcessState)
		}
		return p.readiness() == http.StatusOK
	})
	p.quiet = p.metrics().sum("go_goroutines")
}

// spawn starts the process and does not wait for anything.
func (p *process) spawn() {
	p.t.Helper()
	p.cmd = command(p.args...)
	p.cmd.Dir, p.cmd.Env = p.dir, append(p.cmd.Env, p.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.stderr, p.stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd, exited := p.cmd, make(chan struct{})
	p.exited = exited
	// Stops when the process ends; everyone who ends it waits on exited.
	go func() {
		cmd.Wait()
		close(exited)
	}()
}

// command is the binary with args, in an environment of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(executable, args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cacheHome)
	return cmd
}

// readiness is the status of /readyz; 0 if nobody answers.
func (p *process) readiness() int {
	status, _ := p.ask("/readyz")
	return status
}

// ask gets a page of the admin listener; 0 if nobody answers.
func (p *process) ask(path string) (status int, body string) {
	resp, err := admin.Get("http://" + p.admin + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(b)
}

// admin keeps no connections, so that its own do not show among those it counts.
var admin = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v: %v", s, err)
	}
}

// terminate sends SIGTERM and asserts a clean end.
func (p *process) terminate() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		p.t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.exitCode()
}

func (p *process) restart() {
	p.t.Helper()
	p.terminate()
	p.begin()
}

// exitCode waits for the end of the process.
func (p *process) exitCode() int {
	p.t.Helper()
	bound := time.NewTimer(patience)
	defer bound.Stop()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-bound.C:
		p.cmd.Process.Kill()
		<-p.exited
		p.t.Error("porch did not end")
		return -1
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// pid is that of the running process.
func (p *process) pid() int { return p.cmd.Process.Pid }

// status reads a number of kilobytes from /proc/<pid>/status, such as VmHWM, in bytes.
func (p *process) status(field string) int64 {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return kb << 10
		}
	}
	p.t.Fatalf("/proc/%d/status has no %s", p.pid(), field)
	return 0
}

// forgetPeak has VmHWM start again from what is resident now.
func (p *process) forgetPeak() {
	p.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid()), []byte("5"), 0); err != nil {
		p.t.Fatal(err)
	}
}

// descriptors counts the open files of the process.
func (p *process) descriptors() int {
	p.t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid()))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(open)
}

// finish runs the binary to its end with args.
func finish(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer overdue.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
