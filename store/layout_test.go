package store

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/porchedge/porch/store/clock"
)

// What is on disk never changes under the same numbers.
func TestGoldenBytes(t *testing.T) {
	counter := make([]byte, counterSize)
	putCounter(counter, AlgorithmFixedWindow, Row{Start: 0x0102, End: 0x0304, Used: 0x0506})
	name := make([]byte, rowNameSize)
	putRowName(name, tableCounter, key("0123456789abcdef"))
	index := make([]byte, indexSize)
	putIndex(index, 2, PolicyID{1, 2, 3, 4, 5, 6, 7, 8}, key("0123456789abcdef"))
	r := &response{digest: [DigestSize]byte{0xaa, 31: 0xbb}, expires: 0x0708, record: []byte("hi")}
	stored := make([]byte, headSize+2)
	putResponse(stored, r)
	marker := make([]byte, headSize)
	putResponse(marker, &response{oversize: true, expires: 1})
	started := make([]byte, headSize)
	putResponse(started, &response{started: true, expires: 1})
	reservation := make([]byte, reserveSize)
	putReservation(reservation, 0x0102, 0x0304)
	reading := appendClock(nil, clock.Reading{Store: 1, Wall: time.Unix(0, 2), Elapsed: 3, Boot: "ab"})
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"counter", counter, "0101000000000000" + "0201000000000000" + "0403000000000000" + "0605000000000000"},
		{"row name", name, "63" + hex.EncodeToString([]byte("0123456789abcdef"))},
		{"index entry", index, "78" + "0000000000000002" + "0102030405060708" + hex.EncodeToString([]byte("0123456789abcdef"))},
		{"response", stored, "0100000000000000" + "0807000000000000" + "aa" + zeros(30) + "bb" + "6869"},
		{"oversize marker", marker, "0101000000000000" + "0100000000000000" + zeros(32)},
		{"started", started, "0102000000000000" + "0100000000000000" + zeros(32)},
		{"reservation", reservation, "0100000000000000" + "0201000000000000" + "0403000000000000"},
		{"clock", reading, "01" + "0100000000000000" + "0200000000000000" + "0300000000000000" + "02" + "6162"},
		{"format", keyFormat, hex.EncodeToString([]byte("mformat"))},
		{"secret", keySecret, hex.EncodeToString([]byte("msecret"))},
		{"clock row", keyClock, hex.EncodeToString([]byte("mclock"))},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s is\n%s, not\n%s", c.name, got, c.want)
		}
	}
	if row, err := getCounter(counter); err != nil || row != (Row{0x0102, 0x0304, 0x0506}) {
		t.Errorf("counter reads back as %v, %v", row, err)
	}
	if back, err := getResponse(stored); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("response reads back as %v, %v", back, err)
	}
	if back, err := getResponse(started); err != nil || !back.started || back.oversize {
		t.Errorf("started row reads back as %v, %v", back, err)
	}
	if expires, token, err := getReservation(reservation); err != nil || expires != 0x0102 || token != 0x0304 {
		t.Errorf("reservation reads back as %v, %d, %v", expires, token, err)
	}
	if back, err := getClock(reading); err != nil || back.Boot != "ab" || back.Store != 1 || !back.Wall.Equal(time.Unix(0, 2)) || back.Elapsed != 3 {
		t.Errorf("clock reads back as %v, %v", back, err)
	}
}

func zeros(n int) string { return hex.EncodeToString(make([]byte, n)) }

func TestDamagedRowsAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"empty counter":     second(getCounter(nil)),
		"long counter":      second(getCounter(make([]byte, counterSize+1))),
		"later counter":     second(getCounter(append([]byte{2, 1}, make([]byte, counterSize-2)...))),
		"other algorithm":   second(getCounter(append([]byte{1, 9}, make([]byte, counterSize-2)...))),
		"short response":    second(getResponse(make([]byte, headSize-1))),
		"later response":    second(getResponse(append([]byte{2}, make([]byte, headSize)...))),
		"long reservation":  third(getReservation(make([]byte, reserveSize+1))),
		"later reservation": third(getReservation(append([]byte{2}, make([]byte, reserveSize-1)...))),
		"clock cut short":   second(getClock([]byte{1})),
		"boot cut short":    second(getClock(append([]byte{1}, append(make([]byte, 24), 9, 'x')...))),
		"clock of layout9":  second(getClock(append([]byte{9}, make([]byte, 25)...))),
	} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func TestKeysDoNotRunTogether(t *testing.T) {
	k := newKeyer([]byte("secret"))
	seen := map[RowKey]string{}
	for _, c := range []struct{ filter, name, key string }{
		{"a", "b", "c"}, {"ab", "", "c"}, {"a", "", "bc"}, {"", "ab", "c"}, {"a", "bc", ""}, {"a", "b", "c\x00"},
		{"", "", "abc"}, {"a\x00", "b", "c"}, {"a", "\x00b", "c"},
	} {
		got := k.row(Identity(c.filter, c.name), []byte(c.key))
		if former, ok := seen[got]; ok {
			t.Errorf("%v has the row of %s", c, former)
		}
		seen[got] = c.filter + "/" + c.name + " " + c.key
		if k.row(Identity(c.filter, c.name), []byte(c.key)) != got {
			t.Errorf("%v has two rows", c)
		}
		if newKeyer([]byte("other")).row(Identity(c.filter, c.name), []byte(c.key)) == got {
			t.Errorf("the secret makes no difference to %v", c)
		}
	}
}
