package chain

import (
	"encoding/hex"
	"testing"

	"github.com/porchedge/porch/host/exchange"
)

func TestRecordBytes(t *testing.T) {
	r := exchange.Response{Status: 201}
	r.Header.Add([]byte("Location"), []byte("/o/1"))
	r.Header.Add([]byte("Set-Cookie"), []byte("a=b"))
	r.Body.Bytes = []byte("ok")
	const golden = "01" + "c900" + "0100" + "0800" + "4c6f636174696f6e" + "04000000" + "2f6f2f31" + "6f6b"
	if got := hex.EncodeToString(appendRecord(nil, &r, nil)); got != golden {
		t.Errorf("record is\n%s; want\n%s", got, golden)
	}
}

func TestRecordCarriesTheAllowList(t *testing.T) {
	for _, c := range []struct {
		name    string
		extra   []string
		carried bool
	}{
		{"Content-Type", nil, true},
		{"etag", nil, true},
		{"Vary", nil, true},
		{"X-Order", nil, false},
		{"X-Order", []string{"x-order"}, true},
		{"Set-Cookie", []string{"Set-Cookie"}, false},
		{"Date", []string{"Date"}, false},
		{"Connection", []string{"Connection"}, false},
		{"Content-Length", nil, false},
	} {
		if got := carried(c.name, c.extra); got != c.carried {
			t.Errorf("%s with %v: carried %v; want %v", c.name, c.extra, got, c.carried)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	r := exchange.Response{Status: 200}
	r.Header.Add([]byte("ETag"), []byte(`"1"`))
	r.Body.Bytes = []byte("body")
	f.Add(appendRecord(nil, &r, nil))
	f.Add([]byte{1, 200, 0, 255, 255})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, record []byte) {
		var got exchange.Response
		if readRecord(record, &got) != nil {
			return
		}
		var extra []string
		for _, f := range got.Header.Fields {
			if !carried(string(f.Name), nil) {
				return
			}
		}
		if again := appendRecord(nil, &got, extra); string(again) != string(record) {
			t.Errorf("decoded and encoded again: %x; want %x", again, record)
		}
	})
}
