package acceptance

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports come from below the range that the kernel gives to outgoing connections, so that none of those
// takes a port between two lives of a process.
var nextPort atomic.Int32

const firstPort, ports = 20000, 10000

func init() { nextPort.Store(int32(os.Getpid() * 64 % ports)) }

func freeAddress(t *testing.T) string {
	t.Helper()
	for range ports {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+int(nextPort.Add(1))%ports)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}
