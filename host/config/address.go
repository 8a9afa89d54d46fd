package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

const (
	listenAllowed = "host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080"
	targetAllowed = "http://host:port without a path, such as http://127.0.0.1:9000"
	proxyAllowed  = "an address or CIDR prefix, such as 10.0.0.0/8 or 2001:db8::1"
)

// parseListen checks an address to listen on. Port 0 takes a free one.
func parseListen(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isPort(port) || host != "" && !isHost(host) {
		return "", fmt.Errorf("%s is not an address to listen on, allowed: %s", quote(text), listenAllowed)
	}
	return text, nil
}

// parseTarget checks an upstream's target and gives it in one form, with its port.
func parseTarget(text string) (string, error) {
	refused := func(why string) (string, error) {
		return "", fmt.Errorf("%s %s, allowed: %s", quote(text), why, targetAllowed)
	}
	u, err := url.Parse(text)
	if err != nil {
		return refused("is not a URL")
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	switch {
	case u.Scheme != "http":
		return refused("does not begin with http://")
	case u.User != nil:
		return refused("has a user name")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return refused("has more than a host and a port")
	case !isHost(u.Hostname()) || !isPort(port) || port == "0":
		return refused("has no host and port to connect to")
	}
	return "http://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

// parseProxy reads a prefix of trusted proxies; a single address stands for itself.
func parseProxy(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%s is not a network, allowed: %s", quote(text), proxyAllowed)
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("%s has bits beyond its length, did you mean %q?", quote(text), prefix.Masked())
	}
	return prefix, nil
}

// parseRouteHost gives a host name as requests are matched by it: lower case, no port, no dot at the end.
func parseRouteHost(text string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(text, "."))
	if bare, ok := strings.CutPrefix(host, "["); ok {
		bare, ok = strings.CutSuffix(bare, "]")
		if addr, err := netip.ParseAddr(bare); ok && err == nil && addr.Is6() && addr.Zone() == "" {
			return "[" + addr.String() + "]", nil
		}
	}
	if strings.Contains(host, ":") || !isHost(host) {
		return "", fmt.Errorf("%s is not a host name, allowed: a name without port, such as api.example.com; leave it out for any host", quote(text))
	}
	return host, nil
}

// parseRoutePath gives a path as requests are matched by it: canonical, without a slash at the end.
func parseRoutePath(text string) (string, error) {
	err := routePathMistake(text)
	if err != nil {
		return "", fmt.Errorf("%s %w, allowed: a decoded path such as / or /v1/orders", quote(text), err)
	}
	if text != "/" {
		text = strings.TrimSuffix(text, "/")
	}
	return text, nil
}

func routePathMistake(text string) error {
	if !strings.HasPrefix(text, "/") {
		return errors.New("does not begin with a slash")
	}
	for _, c := range []byte(text) {
		switch {
		case c == '%':
			return errors.New("is encoded; routes match the decoded path")
		case c == '?' || c == '#' || c == '*':
			return fmt.Errorf("holds %q", c)
		case c <= ' ' || c == 0x7f:
			return errors.New("holds a space or control character")
		}
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(text[1:], "/"), "/") {
		switch {
		case segment == "" && text != "/", segment == ".", segment == "..":
			return errors.New("is not canonical")
		}
	}
	return nil
}

// parseMethod accepts the methods that a route may name.
func parseMethod(text string) (string, error) {
	switch {
	case text == "CONNECT" || text == "TRACE":
		return "", fmt.Errorf("%s is never served, allowed: other methods", text)
	case text == "" || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return "", fmt.Errorf("%s is not a method, allowed: upper-case names such as GET, POST", quote(text))
	}
	return text, nil
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isHost accepts addresses and names of letters, digits, '-', '_' and single dots.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}
