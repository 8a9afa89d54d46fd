package config

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// positions maps JSON pointers to places in the file.
type positions map[string]Position

// find returns the place of a pointer, or of the nearest value around it.
func (p positions) find(pointer string) Position {
	for {
		if place, ok := p[pointer]; ok {
			return place
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return p[""]
		}
		pointer = pointer[:i]
	}
}

// guestConfig turns the configuration of a filter into the JSON that its guest reads, and remembers
// where each value stands.
func (r *reader) guestConfig(path string, n *yaml.Node) ([]byte, func(string) Position) {
	g := &guestWriter{r: r, at: positions{}}
	g.write(path, "", n, 0)
	if len(g.json) > maxGuestConfig {
		r.mistake(at(n), "%s: %d bytes as JSON, allowed: at most %d", path, len(g.json), maxGuestConfig)
	}
	return g.json, g.at.find
}

type guestWriter struct {
	r    *reader
	json []byte
	at   positions
}

func (g *guestWriter) write(path, pointer string, n *yaml.Node, depth int) {
	if len(g.json) > maxGuestConfig {
		return
	}
	if depth > maxDepth {
		g.r.mistake(at(n), "%s: nested too deeply, allowed: at most %d levels", path, maxDepth)
		return
	}
	g.at[pointer] = at(n)
	switch n.Kind {
	case yaml.MappingNode:
		g.object(path, pointer, n, depth)
	case yaml.SequenceNode:
		g.array(path, pointer, n, depth)
	default:
		g.scalar(path, n)
	}
}

func (g *guestWriter) object(path, pointer string, n *yaml.Node, depth int) {
	g.json = append(g.json, '{')
	for i, p := range g.r.pairs(path, n) {
		if i > 0 {
			g.json = append(g.json, ',')
		}
		g.text(p.name)
		g.json = append(g.json, ':')
		g.write(path+"."+p.name, pointer+"/"+escapePointer.Replace(p.name), p.value, depth+1)
	}
	g.json = append(g.json, '}')
}

func (g *guestWriter) array(path, pointer string, n *yaml.Node, depth int) {
	g.json = append(g.json, '[')
	for i, raw := range n.Content {
		e := g.r.resolve(raw)
		if e == nil {
			break
		}
		if i > 0 {
			g.json = append(g.json, ',')
		}
		index := strconv.Itoa(i)
		g.write(path+"["+index+"]", pointer+"/"+index, e, depth+1)
	}
	g.json = append(g.json, ']')
}

// scalar writes numbers, truth values and null as such and all else, dates too, as the text that the
// file has.
func (g *guestWriter) scalar(path string, n *yaml.Node) {
	switch n.ShortTag() {
	case "!!null":
		g.json = append(g.json, "null"...)
		return
	case "!!bool", "!!int", "!!float":
	default:
		g.text(n.Value)
		return
	}
	var value any
	err := n.Load(&value)
	if f, ok := value.(float64); err != nil || ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		g.r.mistake(at(n), "%s: %s is not allowed, allowed: a number that JSON can hold", path, quote(n.Value))
		return
	}
	g.marshal(value)
}

func (g *guestWriter) text(s string) { g.marshal(s) }

func (g *guestWriter) marshal(value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic("config: text and finite numbers must marshal: " + err.Error())
	}
	g.json = append(g.json, b...)
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
