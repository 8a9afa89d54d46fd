package exchange

import (
	"reflect"
	"testing"
)

// TestResetEmptiesEverything fills every field of an exchange, so a new one that Reset forgets is found.
func TestResetEmptiesEverything(t *testing.T) {
	var x Exchange
	fill(reflect.ValueOf(&x).Elem())
	x.StartPlaces(2)
	x.Places[1] = Place{Filter: "f", Ops: []HeaderOp{{Name: []byte("n")}}, Status: 200, Mismatched: true}
	x.Properties.Set("f", []byte("p"), []byte("v")) //nolint:errcheck // there is room
	x.Arena.Keep([]byte("k"))
	x.Reset()

	for i := range x.Places[:cap(x.Places)] {
		p := x.Places[:cap(x.Places)][i]
		if p.Ops = nil; !reflect.DeepEqual(p, Place{}) {
			t.Errorf("place %d keeps %+v", i, p)
		}
	}
	if n := len(x.Places) + len(x.Properties.All()) + len(x.Request.Header.Fields) + len(x.Response.Header.Fields) + len(x.Arena.chunk) + len(x.Reservations); n != 0 {
		t.Errorf("%d entries are left in lists", n)
	}
	x.Places, x.Properties, x.Arena, x.Reservations = nil, Properties{}, Arena{}, nil
	x.Tickets, x.Gate = Exchange{}.Tickets, Exchange{}.Gate
	x.Request.Header, x.Response.Header = Header{}, Header{}
	if !reflect.DeepEqual(x, Exchange{}) {
		t.Errorf("left: %+v", x)
	}
}

// fill sets every exported field that is not a list to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	}
}
