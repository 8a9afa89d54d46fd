package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	tick         = 10 * time.Millisecond // of the processor times in /proc: USER_HZ, 100 on Linux
)

// process is a server that runs beside us.
type process struct {
	addr  string
	log   string // file with what it wrote
	cmd   *exec.Cmd
	ended chan error // its one result
}

// start runs command, which listens on addr.
func start(log, addr string, command ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{addr: addr, log: log, ended: make(chan error, 1), cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	// Stops when the process ends; stop waits for it.
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// await calls ready until it returns nil, the process has ended or time is up.
func (p *process) await(ctx context.Context, ready func(addr string) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := ready(p.addr)
		if err == nil {
			return nil
		}
		select {
		case ended := <-p.ended:
			p.ended <- ended
			text, _ := os.ReadFile(p.log)
			return fmt.Errorf("ended at once: %v: %s", ended, strings.TrimSpace(string(text)))
		case <-ctx.Done():
			return fmt.Errorf("does not serve: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// cpu is the time that the process and its children have spent on a processor.
func (p *process) cpu() (time.Duration, error) {
	all, err := processTable()
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for pid, s := range all {
		if pid == p.cmd.Process.Pid || s.parent == p.cmd.Process.Pid {
			total += s.cpu
		}
	}
	return total, nil
}

// stat is what /proc says of a process.
type stat struct {
	parent int
	cpu    time.Duration // user and system
}

func processTable() (map[int]stat, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	all := map[int]stat{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		pid, s, err := parseStat(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[pid] = s
	}
	return all, nil
}

// parseStat reads the fields pid, ppid, utime and stime of proc_pid_stat(5). The command's name, in
// parentheses, may hold anything.
func parseStat(text string) (pid int, s stat, err error) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return 0, stat{}, errors.New("no command in parentheses")
	}
	fields := strings.Fields(text[end+1:])
	const parent, utime, stime = 1, 11, 12
	if len(fields) <= stime {
		return 0, stat{}, errors.New("too few fields")
	}
	var numbers [4]int
	for i, field := range []string{strings.TrimSpace(text[:begin]), fields[parent], fields[utime], fields[stime]} {
		if numbers[i], err = strconv.Atoi(field); err != nil {
			return 0, stat{}, err
		}
	}
	return numbers[0], stat{numbers[1], time.Duration(numbers[2]+numbers[3]) * tick}, nil
}

// freeAddress is an address on which nobody listens just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
