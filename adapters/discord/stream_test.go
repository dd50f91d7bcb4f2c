package discord

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
)

// pieces are frames of a connection that ends after them.
type pieces [][]byte

// NextReader implements frameSource.
func (p *pieces) NextReader() (int, io.Reader, error) {
	if len(*p) == 0 {
		return 0, nil, io.ErrClosedPipe
	}
	next := (*p)[0]
	*p = (*p)[1:]
	return 2, bytes.NewReader(next), nil
}

// deflated is what Discord sends of texts: one stream, flushed after each.
func deflated(t *testing.T, texts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for _, text := range texts {
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// However the compressed stream is cut into frames, each payload is read when it is
// there; then comes the error of the connection itself.
func TestStream(t *testing.T) {
	all := deflated(t, `{"op":10}`, `{"op":11,"d":"}{"}`)
	for _, size := range []int{1, 7, len(all)} {
		var p pieces
		for rest := all; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			p = append(p, rest[:min(size, len(rest))])
		}
		s := &stream{ws: &p, most: 100}
		for _, want := range []string{`{"op":10}`, `{"op":11,"d":"}{"}`} {
			if got, err := s.next(); err != nil || string(got) != want {
				t.Errorf("in pieces of %d: %s, %v", size, got, err)
			}
		}
		if _, err := s.next(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("in the end: %v", err)
		}
	}
}

// What is no such stream, or would be too long, is an error.
func TestStreamIsBad(t *testing.T) {
	long := deflated(t, `{"d":"`+strings.Repeat("a", 10_000)+`"}`)
	for name, frame := range map[string][]byte{"no stream": []byte(`{"op":10}`), "no JSON": deflated(t, "}{"), "cut": long[:10], "too long": long} {
		s := &stream{ws: &pieces{frame}, most: 10_000}
		if got, err := s.next(); err == nil || name == "too long" && !errors.Is(err, errInflated) {
			t.Errorf("%s: %.50s, %v", name, got, err)
		}
	}
}
