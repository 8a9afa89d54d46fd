package route

import (
	"bytes"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ path, want string }{
		{"/", "/"},
		{"/a", "/a"},
		{"/a/", "/a/"},
		{"/a//b", "/a/b"},
		{"//", "/"},
		{"///a///", "/a/"},
		{"/./a", "/a"},
		{"/a/.", "/a/"},
		{"/a/./", "/a/"},
		{"/a/..", "/"},
		{"/a/../", "/"},
		{"/a/b/..", "/a/"},
		{"/a/b/../c", "/a/c"},
		{"/../a", "/a"},
		{"/..", "/"},
		{"/../../..", "/"},
		{"/a/../../b", "/b"},
		{"/...", "/..."},
		{"/.a", "/.a"},
		{"/a/..b", "/a/..b"},
		{"/.well-known/x", "/.well-known/x"},
		{"/%61", "/a"},
		{"/%2e%2E/a", "/a"},
		{"/a%2F..%2Fb", "/b"},
		{"/a%2fb", "/a/b"},
		{"/%252e", "/%2e"},
		{"/a%20b", "/a b"},
		{"/%ff", "/\xff"},
		{"/a;x=1/b", "/a;x=1/b"},
		{"/a\\b", "/a\\b"},
		{"/+", "/+"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			if got, ok := Canonical([]byte(tt.path)); !ok || string(got) != tt.want {
				t.Errorf("%q, %v; want %q", got, ok, tt.want)
			}
		})
	}
	for _, path := range []string{"", "a", "%2fa", "/%", "/%4", "/%g0", "/%0g", "/%00", "/a%", "/%%41"} {
		if got, ok := Canonical([]byte(path)); ok {
			t.Errorf("%q: %q, want none", path, got)
		}
	}
}

// FuzzCanonical holds a canonical path to what the name says: it begins with a slash, has no empty and no
// dot segment, and the path that was given is not changed.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"/", "/a%2fb//..", "/%2e%2e/./x", "//%2F%2f", "/a/..%2f..", "/%"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		given := bytes.Clone(path)
		got, ok := Canonical(path)
		if !bytes.Equal(path, given) {
			t.Fatalf("changed %q to %q", given, path)
		}
		if !ok {
			return
		}
		if len(got) == 0 || got[0] != '/' || bytes.Contains(got, []byte("//")) {
			t.Fatalf("%q from %q", got, path)
		}
		for _, segment := range bytes.Split(got, []byte{'/'}) {
			if string(segment) == "." || string(segment) == ".." {
				t.Fatalf("%q from %q", got, path)
			}
		}
	})
}
