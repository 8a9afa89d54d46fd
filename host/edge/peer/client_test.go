package peer

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/porchedge/porch/host/exchange"
)

var trusted = Proxies{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("2001:db8:1::/48"),
}

func TestClient(t *testing.T) {
	tests := []struct {
		name, peer string
		lines      []string
		client     string
		trusted    bool
	}{
		{"no proxy", "192.0.2.1", nil, "192.0.2.1", false},
		{"a stranger's word", "192.0.2.1", []string{"198.51.100.7"}, "192.0.2.1", false},
		{"proxy without a word", "10.0.0.1", nil, "10.0.0.1", true},
		{"one entry", "10.0.0.1", []string{"198.51.100.7"}, "198.51.100.7", true},
		{"left of the client is the attacker's", "10.0.0.1", []string{"1.1.1.1, 198.51.100.7"}, "198.51.100.7", true},
		{"over a chain of proxies", "10.0.0.1", []string{"1.1.1.1, 198.51.100.7, 10.0.0.3,10.0.0.2"}, "198.51.100.7", true},
		{"lines are one list", "10.0.0.1", []string{"1.1.1.1", "198.51.100.7", "10.0.0.2"}, "198.51.100.7", true},
		{"forged line in front", "10.0.0.1", []string{"10.0.0.9", "198.51.100.7"}, "198.51.100.7", true},
		{"all of them proxies", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3", true},
		{"empty entries", "10.0.0.1", []string{" , 198.51.100.7,, "}, "198.51.100.7", true},
		{"port", "10.0.0.1", []string{"198.51.100.7:4711"}, "198.51.100.7", true},
		{"IPv6", "10.0.0.1", []string{"2001:db8::1"}, "2001:db8::1", true},
		{"IPv6 in brackets", "10.0.0.1", []string{"[2001:db8::1]"}, "2001:db8::1", true},
		{"IPv6 and port", "10.0.0.1", []string{"[2001:db8::1]:4711"}, "2001:db8::1", true},
		{"IPv6 proxy", "2001:db8:1::5", []string{"198.51.100.7"}, "198.51.100.7", true},
		{"mapped", "10.0.0.1", []string{"::ffff:198.51.100.7"}, "198.51.100.7", true},
		{"mapped proxy", "10.0.0.1", []string{"198.51.100.7, ::ffff:10.0.0.2"}, "198.51.100.7", true},
		{"a zone stops the walk", "10.0.0.1", []string{"198.51.100.7, fe80::1%eth0, 10.0.0.2"}, "10.0.0.2", true},
		{"a name stops the walk", "10.0.0.1", []string{"198.51.100.7, unknown"}, "10.0.0.1", true},
		{"obfuscated", "10.0.0.1", []string{"198.51.100.7, _hidden, 10.0.0.3"}, "10.0.0.3", true},
		{"port that is none", "10.0.0.1", []string{"198.51.100.7:x"}, "10.0.0.1", true},
		{"IPv4 in brackets", "10.0.0.1", []string{"[198.51.100.7]"}, "10.0.0.1", true},
		{"leading zeros", "10.0.0.1", []string{"198.051.100.7"}, "10.0.0.1", true},
		{"very long", "10.0.0.1", []string{strings.Repeat("1", 100)}, "10.0.0.1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h exchange.Header
			h.Add([]byte("Forwarded"), []byte("for=1.1.1.1"))
			for _, line := range tt.lines {
				h.Add([]byte("x-forwarded-for"), []byte(line))
			}
			client, isTrusted := trusted.Client(netip.MustParseAddr(tt.peer), &h)
			if client.String() != tt.client || isTrusted != tt.trusted {
				t.Errorf("%v, %v", client, isTrusted)
			}
		})
	}
}

// FuzzClient holds the walk to its promises: the client is the peer where that is a stranger, and never an
// address left of one that is no proxy.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{
		"1.1.1.1, 198.51.100.7", "[2001:db8::1]:4711", "::ffff:10.0.0.2,10.0.0.3", "fe80::1%eth0", ",,", "[", "]", "[]", ":", "1.1.1.1:", "[::1",
	} {
		f.Add(seed, "10.0.0.2")
	}
	proxy, stranger := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.1")
	f.Fuzz(func(t *testing.T, first, second string) {
		var h exchange.Header
		h.Add([]byte("X-Forwarded-For"), []byte(first))
		h.Add([]byte("X-Forwarded-For"), []byte(second))
		if client, isTrusted := trusted.Client(stranger, &h); client != stranger || isTrusted {
			t.Fatalf("a stranger became %v", client)
		}
		client, _ := trusted.Client(proxy, &h)
		if !client.IsValid() || client.Zone() != "" || client.Is4In6() {
			t.Fatalf("client %v", client)
		}
		// What the nearest proxy wrote is final.
		h.Add([]byte("X-Forwarded-For"), []byte(stranger.String()))
		if client, _ := trusted.Client(proxy, &h); client != stranger {
			t.Fatalf("%v stands left of the stranger", client)
		}
	})
}

func TestAddress(t *testing.T) {
	tests := []struct {
		name string
		addr net.Addr
		want string
	}{
		{"IPv4", &net.TCPAddr{IP: net.ParseIP("192.0.2.1").To4(), Port: 1}, "192.0.2.1"},
		{"mapped", &net.TCPAddr{IP: net.ParseIP("192.0.2.1").To16(), Port: 1}, "192.0.2.1"},
		{"IPv6 with a zone", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "fe80::1"},
		{"no address", &net.UnixAddr{Name: "x"}, "invalid IP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Address(tt.addr).String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
