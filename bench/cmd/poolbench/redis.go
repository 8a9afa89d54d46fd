package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// redis is a server of its own, whose every answer is on disk.
type redis struct {
	process *exec.Cmd
	address string
}

const redisStart = 10 * time.Second

func startRedis(work, server string, l load) (*redis, error) {
	dir := filepath.Join(work, "redis")
	if err := os.Mkdir(dir, 0o750); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r := &redis{
		process: exec.Command(server, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
			"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no"),
		address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
	}
	if err := r.process.Start(); err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	for deadline := time.Now().Add(redisStart); ; time.Sleep(20 * time.Millisecond) {
		c, err := dial(r.address)
		if err == nil {
			_, err = c.incr("started")
			c.close()
		}
		if err == nil {
			return r, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("redis-server does not answer: %w", err), r.close())
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (r *redis) close() error {
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return r.process.Wait()
}

// drive has each client of its own connection INCR random keys, one round trip each.
func (r *redis) drive(clients int, l load) (turn, error) {
	perSecond, err := race(clients, l, func(n int) (func() error, func() error, error) {
		c, err := dial(r.address)
		if err != nil {
			return nil, nil, err
		}
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		key := make([]byte, 0, 32)
		return func() error {
			key = strconv.AppendInt(append(key[:0], "client-"...), rng.Int64N(int64(l.keys)), 10)
			_, err := c.incr(string(key))
			return err
		}, c.close, nil
	})
	return turn{perSecond: perSecond}, err
}

// conn speaks as much of Redis's protocol as INCR needs.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

func dial(address string) (*conn, error) {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 256)}, nil
}

func (c *conn) close() error { return c.Conn.Close() }

func (c *conn) incr(key string) (int64, error) {
	c.out = append(c.out[:0], "*2\r\n$4\r\nINCR\r\n$"...)
	c.out = strconv.AppendInt(c.out, int64(len(key)), 10)
	c.out = append(c.out, "\r\n"...)
	c.out = append(c.out, key...)
	c.out = append(c.out, "\r\n"...)
	if _, err := c.Write(c.out); err != nil {
		return 0, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != ':' {
		return 0, fmt.Errorf("redis says %q", line)
	}
	return strconv.ParseInt(string(line[1:len(line)-2]), 10, 64)
}
